import assert from 'node:assert/strict';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { OutcomeUnknownError, StorageError } from '../../../../src/core/errors.ts';
import { appOver } from '../../../faulty-store.ts';
import { addClient, event, startService, type TestService } from '../../../support.ts';
import { poison } from '../../store/damage.ts';

const storeFailed =
	'{"message":"Internal server error.","validationErrors":"the store failed; nothing is stored, retrying is safe"}';

const accountFile = (service: TestService) => join(service.folder, 'accounts/1.sqlite');

async function assertStoreFailed(service: TestService, answer: Response): Promise<void> {
	assert.equal(await answer.text(), storeFailed);
	assert.equal(answer.status, 500);
	assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
	assert.equal(answer.headers.get('x-events-stored'), null);
	assert.match(answer.headers.get('ratelimit-policy') ?? '', /^"rate";q=\d+;w=1, "quota";q=\d+;w=\d+$/);
	// The log has the cause and whom it concerns, under the request id.
	const requestId = answer.headers.get('x-request-id');
	const entry = service.logged
		.map((line) => JSON.parse(line))
		.find((line) => line.requestId === requestId && line.level === 'error');
	assert.ok(entry?.cause, 'the cause is logged');
	const { operation, client, aid } = entry;
	assert.deepEqual(
		{ operation, client, aid },
		{ operation: 'uploadSubscription', client: 'acme', aid: service.aid },
	);
}

test('if the file of an account is missing, none is created in its place, and putting it back is enough', async (t) => {
	const service = await startService(t);
	const file = accountFile(service);
	renameSync(file, `${file}.away`);
	const upload = { aid: service.aid, data: [event()] };
	await assertStoreFailed(service, await service.upload(upload));
	await assertStoreFailed(service, await service.upload({ ...upload, simulate: true }));
	renameSync(`${file}.away`, file);
	const answer = await service.upload(upload);
	assert.equal(answer.status, 201);
	assert.equal(answer.headers.get('x-events-stored'), '1');
});

test('uploads to an account whose file is not a database fail', async (t) => {
	const service = await startService(t);
	writeFileSync(accountFile(service), 'x'.repeat(10_000));
	await assertStoreFailed(service, await service.upload({ aid: service.aid, data: [event()] }));
});

test('other accounts are not affected', async (t) => {
	const service = await startService(t);
	const other = await addClient(service.store, { client: 'globex' });
	await service.server.directory.refresh();
	renameSync(accountFile(service), `${accountFile(service)}.away`);
	const answers = await Promise.all(
		Array.from({ length: 10 }, (_, index) =>
			index % 2
				? service.upload({ aid: service.aid, data: [event()] })
				: service.upload({ aid: other.aid, data: [event()] }, { 'x-api-key': other.key }),
		),
	);
	assert.deepEqual(
		answers.map(({ status }) => status),
		[201, 500, 201, 500, 201, 500, 201, 500, 201, 500],
	);
});

for (const how of ['ABORT', 'FAIL', 'ROLLBACK'] as const) {
	test(`a request that fails halfway (${how}) stores nothing`, async (t) => {
		const service = await startService(t);
		const { cure } = poison(accountFile(service), how);
		const upload = { aid: service.aid, data: [event(), event({ tid: 'poison' }), event()] };
		await assertStoreFailed(service, await service.upload(upload));
		assert.deepEqual(await service.stored(), []);
		cure();
		const answer = await service.upload(upload);
		assert.equal(answer.status, 201);
		assert.equal(answer.headers.get('x-events-stored'), '3');
	});

	test(`requests committed together with a failing one (${how}) get their own outcomes`, async (t) => {
		const service = await startService(t);
		poison(accountFile(service), how);
		const answers = await Promise.all(
			Array.from({ length: 40 }, (_, index) => {
				const tid = `T-${index}`;
				const data = index === 20 ? [event({ tid }), event({ tid: 'poison' })] : [event({ tid })];
				return service.upload({ aid: service.aid, data });
			}),
		);
		const statuses = answers.map(({ status }) => status);
		assert.equal(statuses[20], 500);
		const tids = (await service.stored()).map(({ tid }) => tid);
		assert.deepEqual(
			tids.sort(),
			[...statuses.keys()]
				.filter((index) => statuses[index] === 201)
				.map((index) => `T-${index}`)
				.sort(),
		);
		if (how !== 'ROLLBACK')
			assert.equal(tids.length, 39, 'a savepoint of its own protects every other request');
	});
}

test('no failure of the store puts SQL, a path or a secret into the answer', async (t) => {
	const { upload, aid, logged } = await appOver(t, {
		storeSubscriptionEvents: () =>
			Promise.reject(new Error('INSERT INTO subscription_event failed in /data/accounts/1.sqlite')),
	});
	const answer = await upload({ aid, data: [event()] });
	assert.equal(answer.status, 500);
	assert.equal(answer.body, storeFailed);
	assert.ok(logged.some((line) => line.includes('INSERT INTO subscription_event failed')));
});

test('an unknown outcome is answered as unknown', async (t) => {
	const { upload, aid } = await appOver(t, {
		storeSubscriptionEvents: () => Promise.reject(new OutcomeUnknownError()),
	});
	const answer = await upload({ aid, data: [event()] });
	assert.equal(answer.status, 500);
	assert.equal(
		answer.body,
		'{"message":"Internal server error.","validationErrors":"outcome unknown; retrying is safe"}',
	);
});

test('a request fails if the quota cannot be leased', async (t) => {
	const { upload, aid } = await appOver(t, {
		settleQuotas: () => Promise.reject(new StorageError('disk I/O error')),
	});
	const answer = await upload({ aid, data: [event()] });
	assert.equal(answer.status, 500);
	assert.equal(answer.body, storeFailed);
});

test('a stored upload is answered 201 even if the log cannot be written', async (t) => {
	const { upload, aid, logged } = await appOver(t, {
		storeSubscriptionEvents: async () => ({ stored: 0, duplicateRows: [0], conflictingRows: [0] }),
	});
	logged.push = () => {
		throw new Error('the log is full');
	};
	const answer = await upload({ aid, data: [event()] });
	assert.equal(answer.status, 201, answer.body);
	assert.equal(answer.headers.get('x-conflicting-rows'), '0');
});
