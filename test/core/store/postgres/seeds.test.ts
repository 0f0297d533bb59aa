import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ArrivingHit } from '../../../../src/core/domain/stored-hit.ts';
import { addClient, browserUserAgent, serveAt } from '../../../support.ts';
import { openStore } from '../../../whole.ts';
import { newSeed } from '../contract/seeds.ts';
import { assertAsTheLogSays } from '../contract/visitors.ts';
import { addAccount, openFor, startWritingFor } from '../engines.ts';
import { derived, hit, newId } from '../made-hits.ts';
import { installedPostgresDatabase } from '../postgres-server.ts';

test('hits of a seed that reach several servers at once are one visitor’s, in one visit', async (t) => {
	const address = await installedPostgresDatabase();
	const servers = await Promise.all(
		[1, 2, 3].map(async () => {
			const store = await openFor(t, address);
			return { store, writer: await startWritingFor(t, store) };
		}),
	);
	const { store } = servers[0] as (typeof servers)[0];
	const accountId = await addAccount(store);
	const rounds = 40;
	for (let round = 0; round < rounds; round++) {
		// In another order on each server.
		const seeds = await Promise.all(Array.from({ length: 5 }, () => newSeed(store, accountId)));
		const send = (server: number, arriving: readonly Partial<ArrivingHit>[]) =>
			arriving.map((fields) => servers[server]?.writer.storeHit(accountId, hit(fields)));
		const hits = seeds.map((seed) => ({ derived: seed }));
		const stored = await Promise.all([
			...send(0, hits),
			...send(1, hits.toReversed()),
			...send(2, [...hits.slice(2), ...hits.slice(0, 2)]),
		]);
		const visits = new Set(stored.map((one) => `${one?.vid} ${one?.sid}`));
		assert.equal(visits.size, seeds.length, `round ${round}`);
	}
	const { visitors } = (await derived(store, accountId)) as { visitors: { profile: string }[] };
	assert.equal(visitors.length, rounds * 5);
	for (const { profile } of visitors) assert.equal(JSON.parse(profile).hits, 3);
	await assertAsTheLogSays(store, accountId);
});

test('two servers answer a browser’s first hits with one visitor', async (t) => {
	const address = await installedPostgresDatabase();
	const store = await openStore(address);
	const { aid } = await addClient(store);
	await store.close();
	const servers = [await serveAt(address), await serveAt(address)];
	t.after(() => Promise.all(servers.map((server) => server.stop())));
	const sendHit = async (url: string, fields: object) => {
		const answer = await fetch(`${url}/hit`, {
			method: 'POST',
			headers: { 'content-type': 'text/plain', 'user-agent': browserUserAgent },
			body: JSON.stringify({ aid, ...fields }),
		});
		assert.equal(answer.status, 200);
		const { vid, sid } = (await answer.json()) as { vid: string; sid: string };
		return { vid, sid };
	};
	for (let browser = 0; browser < 10; browser++) {
		const seed = newId();
		const answers = await Promise.all(
			[0, 1, 0, 1].map((server) => sendHit(servers[server]?.url as string, { seed })),
		);
		for (const answer of answers) assert.deepEqual(answer, answers[0]);
		for (const { url } of servers) assert.deepEqual(await sendHit(url, { ...answers[0], seed }), answers[0]);
	}
});
