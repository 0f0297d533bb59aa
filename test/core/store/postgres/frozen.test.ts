import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertRefused, caskade } from '../../../process.ts';
import { addClient } from '../../../support.ts';
import { openStore } from '../../../whole.ts';
import { freshPostgresDatabase } from '../postgres-server.ts';
import { PostgresProxy } from './proxy.ts';

for (const how of ['stall', 'refuse'] as const)
	test(`doctor and account create say what does not answer, and go on (${how})`, async (t) => {
		const database = await freshPostgresDatabase();
		const store = await openStore(database);
		await addClient(store, { aid: 'c-a-home' });
		await store.close();
		const proxies = [
			await PostgresProxy.start(await freshPostgresDatabase()),
			await PostgresProxy.start(await freshPostgresDatabase()),
		];
		t.after(async () => {
			for (const proxy of proxies) await proxy[Symbol.asyncDispose]();
		});
		const create = (aid: string, address: string) =>
			caskade([
				...['account', 'create', aid, '--client', 'acme', '--own-database', address, '--database', database],
			]);
		for (const [index, { address }] of proxies.entries())
			for (const aid of [`c-a-own-${index}`, `c-a-second-${index}`])
				assert.equal((await create(aid, address)).code, 0);
		const beganAlone = performance.now();
		await caskade(['doctor', '--database', database]);
		// Five, and what a command may take besides, on this machine.
		const promisedMs = 7500 + 3 * (performance.now() - beganAlone);
		for (const proxy of proxies) proxy[how]();

		const began = performance.now();
		const { stdout, code } = await caskade(['doctor', '--database', database]);
		assert.ok(performance.now() - began < promisedMs, `doctor took ${performance.now() - began} ms`);
		assert.equal(code, 1);
		assert.match(stdout, /^ok +account c-a-home: /m);
		assert.match(stdout, /^ok +keys: /m);
		for (const [index, { address }] of proxies.entries())
			for (const aid of [`c-a-own-${index}`, `c-a-second-${index}`])
				assert.match(
					stdout,
					new RegExp(
						`^CARE +account ${aid}: \\S+:${new URL(address).port}/\\w+ cannot be asked: No PostgreSQL`,
						'm',
					),
				);

		const beganCreation = performance.now();
		assertRefused(
			await create('c-a-new', (proxies[0] as PostgresProxy).address),
			/No PostgreSQL server (answers|listens) at/,
		);
		assert.ok(performance.now() - beganCreation < promisedMs);
		assert.equal(
			(await caskade(['account', 'create', 'c-a-other', '--client', 'acme', '--database', database])).code,
			0,
		);
	});
