import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import pg from 'pg';
import { caskade } from '../../../process.ts';
import { browserUserAgent } from '../../../support.ts';
import { createDatabase, startOwnPostgres } from './server.ts';
import { becomes, startProxiedService } from './service.ts';

test('a server that has become a standby is not asked: 503 with retry-after, and all is well once it takes writes again', async (t) => {
	const postgres = await startOwnPostgres();
	t.after(() => postgres.stop());
	const ask = async (sql: string) => {
		const client = new pg.Client({ connectionString: postgres.url });
		await client.connect();
		await client.query(sql).finally(() => client.end());
	};
	const service = await startProxiedService(t, await createDatabase(postgres), {
		ratePerSecond: 1000,
		burst: 1000,
	});
	const { server, acme, address } = service;
	assert.equal((await service.upload(['before'])).status, 201);
	const hit = () =>
		fetch(`${server.url}/hit`, {
			method: 'POST',
			headers: { 'content-type': 'application/json', 'user-agent': browserUserAgent },
			body: JSON.stringify({ aid: acme.aid, url: 'https://shop.test/' }),
		});
	const { cask } = (await (await hit()).json()) as { cask: string };
	const start = await postgres.shutDown();
	writeFileSync(join(postgres.folder, 'postgres/standby.signal'), '');
	// Its promise waits for a server that takes writes.
	const promoted = start();
	await becomes('the standby answers', 10_000, () =>
		ask('SELECT 1').then(
			() => true,
			() => false,
		),
	);
	const read = () => fetch(`${server.url}/visscores?cask=${cask}`);
	for (const send of [() => service.upload(['standby']), hit, read]) {
		const { status, headers } = await send();
		assert.deepEqual([status, headers.get('retry-after')], [503, '1'], String(send));
	}
	const { code, stderr } = await caskade(['doctor', '--database', address]);
	assert.equal(code, 1);
	assert.match(
		stderr,
		/^caskade: The PostgreSQL server at \S+ says: it is a standby, where nothing can be stored\.\n$/,
	);
	await ask('SELECT pg_promote()');
	await promoted;
	await service.uploadUntilStored('after');
	assert.deepEqual(await service.stored(), ['before', 'after']);
	assert.equal((await read()).status, 200);
});
