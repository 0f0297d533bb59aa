import assert from 'node:assert/strict';
import { test } from 'node:test';
import { caskadeWithin } from '../../../process.ts';
import { addAccount, openFor, startWritingFor } from '../engines.ts';
import { hit } from '../made-hits.ts';
import { installedPostgresDatabase } from '../postgres-server.ts';
import { sessionOn } from './service.ts';

test('sequences that a restore has left behind are told by doctor, with what mends them', async (t) => {
	const address = await installedPostgresDatabase();
	const store = await openFor(t, address);
	const id = await addAccount(store, 'c-a-acme-uk');
	const writer = await startWritingFor(t, store);
	for (let hits = 0; hits < 3; hits++) await writer.storeHit(id, hit());
	const told = async () =>
		/^(\w+) +account c-a-acme-uk: (.+)$/m.exec(
			(await caskadeWithin(['doctor', '--database', address])).stdout,
		);
	assert.equal((await told())?.[1], 'ok');
	const session = await sessionOn(t, address);
	for (const table of ['hit', 'visit'])
		await session.query(`SELECT setval('caskade_account_${id}.${table}_id_seq', 1)`);
	await assert.rejects(writer.storeHit(id, hit()), /duplicate key/);
	const [, how, detail = ''] = (await told()) ?? [];
	assert.equal(how, 'CARE');
	const [, mending] = /stop the servers and run (.+)$/.exec(detail) ?? assert.fail(detail);
	await session.query(mending as string);
	await writer.storeHit(id, hit());
	assert.equal((await told())?.[1], 'ok');
});
