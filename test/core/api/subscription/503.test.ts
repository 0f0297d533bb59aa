import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { QueueFullError } from '../../../../src/core/errors.ts';
import { countRows } from '../../../../src/core/store/account/reading/rows.ts';
import { appOver } from '../../../faulty-store.ts';
import { takesLong } from '../../../quick.ts';
import { event, startService } from '../../../support.ts';
import { lockDatabase } from '../../store/other-program.ts';

const overloaded = '{"message":"Service unavailable.","validationErrors":null}';

// Filling the queue by number would take 8,192 clients. So it is filled by size, 64 MiB: a few hundred of the largest
// requests, delayed by another process that has the account's lock.
test('more uploads wait for the store than the queue holds; the waiting ones are stored', {
	skip: takesLong,
}, async (t) => {
	const service = await startService(t, { plan: { maxEvents: 1000, timeoutMs: 300_000 } });
	await using lock = await lockDatabase(join(service.folder, 'accounts/1.sqlite'));
	const filler = 'x'.repeat(240);
	const largest = (request: number) => ({
		aid: service.aid,
		data: Array.from({ length: 240 }, (_, index) => ({
			tid: `${request}-${index}-${filler}`,
			subid: filler,
			cid: filler,
			evt: filler,
		})),
	});
	const answers = Array.from({ length: 300 }, (_, request) => service.upload(largest(request)));
	const refused = await Promise.any(
		answers.map(async (pending) => {
			const answer = await pending;
			assert.equal(answer.status, 503);
			return answer;
		}),
	);
	assert.equal(await refused.text(), overloaded);
	assert.equal(refused.headers.get('content-type'), 'application/json; charset=utf-8');
	assert.equal(refused.headers.get('retry-after'), '1');
	assert.match(refused.headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/);
	assert.match(refused.headers.get('ratelimit-policy') ?? '', /^"rate";q=\d+;w=1, "quota";q=\d+;w=\d+$/);

	await lock.release();
	const statuses = (await Promise.all(answers)).map(({ status }) => status);
	const accepted = statuses.filter((status) => status === 201).length;
	assert.equal(accepted + statuses.filter((status) => status === 503).length, 300);
	assert.ok(accepted > 200);
	const { id } = await service.store.control.account(service.aid);
	assert.equal(await service.store.read(id, countRows('subscription_event')), accepted * 240);
	assert.equal((await service.upload({ aid: service.aid, data: [event()] })).status, 201);
});

test('more requests wait for a lease of quota than the queue holds', async (t) => {
	const { upload, aid } = await appOver(t, { settleQuotas: () => Promise.reject(new QueueFullError()) });
	const answer = await upload({ aid, data: [event()] });
	assert.equal(answer.status, 503);
	assert.equal(answer.body, overloaded);
	assert.equal(answer.headers.get('retry-after'), '1');
});
