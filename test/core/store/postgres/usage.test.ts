import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServeProcess } from '../../../process.ts';
import { addClient } from '../../../support.ts';
import { openFor } from '../engines.ts';
import { installedPostgresDatabase } from '../postgres-server.ts';
import { becomes, sessionOn, startProxiedService, uploadTids } from './service.ts';

test('usage counts each request once, however many answers of the database are lost', async (t) => {
	const service = await startProxiedService(t, await installedPostgresDatabase(), { quotaPerMonth: 1000 });
	const uploads = 60;
	for (let number = 0; number < uploads; number++) {
		// Loses the answer to a report or lease, or to its COMMIT.
		if (number % 3 === 0) service.proxy.losesAnswerTo = number % 2 === 0 ? 'usage' : 'COMMIT';
		const { status, body } = await service.upload([`T-${number}`]);
		assert.equal(status, 201, body);
	}
	service.proxy.losesAnswerTo = undefined;
	const usage = async () => (await service.store.control.usage('acme'))[0];
	await becomes('all are told', 1000, async () => ((await usage())?.used ?? 0) >= uploads);
	await service.server.stop();
	const { used, forfeited, remaining } = (await usage()) ?? {};
	assert.deepEqual(
		{ used, forfeited, remaining },
		{ used: uploads, forfeited: 0, remaining: 1000 - uploads },
	);
});

test('the lease of a killed server is forfeited and not used, and the other server continues', async (t) => {
	const address = await installedPostgresDatabase();
	const store = await openFor(t, address);
	const client = await addClient(store, { plan: { quotaPerMonth: 1000 } });
	const session = await sessionOn(t, address);
	await using killed = await ServeProcess.start(['--database', address]);
	await using other = await ServeProcess.start(['--database', address]);
	for (let number = 0; number < 7; number++) {
		assert.equal((await uploadTids(killed.url, client, [`killed-${number}`])).status, 201);
		assert.equal((await uploadTids(other.url, client, [`other-${number}`])).status, 201);
	}
	const usage = async () => {
		const [key] = await store.control.usage('acme');
		return { used: key?.used, forfeited: key?.forfeited, remaining: key?.remaining };
	};
	const told = { used: 14, forfeited: 0, remaining: 986 };
	await becomes('all are told', 1000, async () => (await usage()).used === 14);
	assert.deepEqual(await usage(), told);
	await killed.kill('SIGKILL');
	assert.deepEqual(await usage(), told, 'a server that has just died may be alive');
	// Makes dead servers' heartbeats old enough; the live one sends another.
	await session.query('UPDATE caskade_control.server SET seen_at = seen_at - 11000');
	await becomes('the other is alive', 3000, async () => {
		const { rows } = await session.query(
			'SELECT 1 FROM caskade_control.server WHERE seen_at > extract(epoch FROM clock_timestamp()) * 1000 - 5000',
		);
		return rows.length === 1;
	});
	const { used, forfeited = 0, remaining = 0 } = await usage();
	assert.equal(used, 14);
	assert.ok(forfeited > 0 && forfeited <= 99, `${forfeited} forfeited`);
	assert.equal(remaining, 1000 - 14 - forfeited);
	assert.equal((await uploadTids(other.url, client, ['after'])).status, 201);
	assert.equal((await other.kill('SIGTERM')).code, 0);
	assert.deepEqual(await usage(), { used: 15, forfeited, remaining: remaining - 1 });
	const { rows } = await session.query('SELECT server_id FROM caskade_control.quota_lease');
	assert.equal(rows.length, 1, 'a server that has stopped leaves nothing behind');
});
