import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openStore } from '../../../../src/assembly/open-store.ts';
import type { KeyUsage } from '../../../../src/core/store/control/control-store.ts';
import {
	assertRefused,
	caskade,
	caskadeJson,
	emptyInstallation,
	ServeProcess,
	withinASecond,
} from '../../../process.ts';
import { takesLong } from '../../../quick.ts';
import { serveHere } from '../../../serve-here.ts';
import { addClient, event, temporaryFolder } from '../../../support.ts';

test('usage shows exactly what a running server has admitted, within a second', async (t) => {
	const address = `sqlite:${temporaryFolder(t)}`;
	const at = ['--database', address];
	const store = await openStore(address);
	t.after(() => store.close());
	const { aid, key, keyId } = await addClient(store, { plan: { quotaPerMonth: 1000 } });
	await addClient(store, { client: 'other' });
	await using server = await serveHere(at);

	const statuses = await Promise.all([
		...Array.from({ length: 12 }, () => server.upload(key, { aid, data: [event()] })),
		...Array.from({ length: 3 }, () => server.upload(key, { aid, data: [event()], simulate: true })),
		server.upload(key, { aid, data: [] }),
		server.upload('unknown', { aid, data: [event()] }),
	]);
	assert.deepEqual(
		statuses.map(({ status }) => status),
		[...Array(12).fill(201), 200, 200, 200, 400, 403],
	);
	await withinASecond('the usage is told', async () => (await store.control.usage('acme'))[0]?.used === 16);

	const [usage, ...others] = (await caskadeJson(['usage', '--client', 'acme', ...at])) as KeyUsage[];
	assert.deepEqual(others, []);
	const now = new Date();
	assert.deepEqual(usage, {
		key: keyId,
		client: 'acme',
		plan: 'plan-of-acme',
		month: now.toISOString().slice(0, 7),
		quota: 1000,
		used: 16,
		forfeited: 0,
		remaining: 984,
		resetsAt: new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)).toISOString(),
	});
	const all = (await caskadeJson(['usage', ...at])) as KeyUsage[];
	assert.deepEqual(
		all.map(({ client, used }) => ({ client, used })),
		[
			{ client: 'acme', used: 16 },
			{ client: 'other', used: 0 },
		],
	);
	assert.match(
		(await caskade(['usage', ...at])).stdout,
		/^key +client +plan +month +quota +used +forfeited +remaining +resetsAt\n/,
	);

	await server.stop();
	assert.equal(((await caskadeJson(['usage', ...at])) as KeyUsage[])[0]?.used, 16, 'and after a clean end');
});

test('the lease of a killed server is forfeited: neither used nor left', { skip: takesLong }, async (t) => {
	const address = `sqlite:${temporaryFolder(t)}`;
	const store = await openStore(address);
	t.after(() => store.close());
	const { aid, key } = await addClient(store, { plan: { quotaPerMonth: 1000 } });
	const usage = async () => {
		const [{ used, forfeited, remaining }] = (await caskadeJson(['usage', '--database', address])) as [
			KeyUsage,
		];
		return { used, forfeited, remaining };
	};
	let server = await ServeProcess.start(['--database', address]);
	for (let upload = 0; upload < 7; upload++)
		assert.equal((await server.upload(key, { aid, data: [event()] })).status, 201);
	await withinASecond('the usage is told', async () => (await usage()).used === 7);
	assert.deepEqual(await usage(), { used: 7, forfeited: 0, remaining: 993 });
	await server.kill('SIGKILL');
	const after = await usage();
	assert.equal(after.used, 7);
	assert.ok(after.forfeited > 0 && after.forfeited <= 99, `${after.forfeited} forfeited`);
	assert.equal(after.remaining, 993 - after.forfeited);
	server = await ServeProcess.start(['--database', address]);
	assert.deepEqual(await usage(), after, 'the next start changes nothing of it');
	const answer = await fetch(`${server.url}/usage`, { headers: { 'x-api-key': key } });
	const { quotaPerMonth, used, forfeited, remaining } = (await answer.json()) as Record<string, number>;
	assert.deepEqual({ used, forfeited, remaining }, after, 'GET /usage says the same');
	assert.equal(after.used + after.forfeited + after.remaining, quotaPerMonth);
	await server.kill();
});

test('usage without any key', async (t) => {
	const at = await emptyInstallation(t);
	assert.deepEqual(await caskadeJson(['usage', ...at]), []);
	assert.match((await caskade(['usage', ...at])).stdout, /^No keys yet/);
	assertRefused(await caskade(['usage', '--client', 'nobody', ...at]), /There is no client nobody/);
});
