import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { dayMs } from '../../../../src/core/durations.ts';
import { ServeProcess } from '../../../process.ts';
import { addClient, browserUserAgent, type HitAnswer, roomyPlan } from '../../../support.ts';
import { openFor, startWritingFor } from '../engines.ts';
import { installedPostgresDatabase } from '../postgres-server.ts';
import { becomes, sessionOn, startProxiedService, uploadTids } from './service.ts';

test('uploads continue when the clock of the database steps back an hour', async (t) => {
	const plan = { ratePerSecond: 10, burst: 1 };
	const service = await startProxiedService(t, await installedPostgresDatabase(), plan);
	const session = await sessionOn(t, service.address);
	assert.equal((await service.upload(['before'])).status, 201);
	// The state after the clock was an hour ahead.
	await session.query('UPDATE caskade_control.token_bucket SET at_ms = at_ms + 3600000');
	await becomes('an upload is stored', 1000, async () => (await service.upload(['after'])).status === 201);
	assert.deepEqual(await service.stored(), ['before', 'after']);
});

test('the bucket refills from the moment of the step, whatever its tokens were', async (t) => {
	const address = await installedPostgresDatabase();
	const { tokens } = await startWritingFor(t, await openFor(t, address));
	const session = await sessionOn(t, address);
	const plan = { ...roomyPlan, ratePerSecond: 1000, burst: 100 };
	await tokens?.takeTokens('k_1', plan, 100);
	await session.query('UPDATE caskade_control.token_bucket SET tokens = 0, at_ms = at_ms + 86400000');
	assert.equal((await tokens?.takeTokens('k_1', plan, 100))?.granted, 0);
	await session.query('SELECT pg_sleep(0.12)');
	assert.equal((await tokens?.takeTokens('k_1', plan, 100))?.granted, 100);
});

const movedClock = pathToFileURL(join(import.meta.dirname, '../../../moved-clock.js')).href;

test("servers with wrong clocks use the database's, for months of quota and for casks", async (t) => {
	const address = await installedPostgresDatabase();
	const store = await openFor(t, address);
	const client = await addClient(store, { plan: { quotaPerMonth: 30 } });
	const start = (aheadMs: number) =>
		ServeProcess.start(['--database', address], {
			NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import=${movedClock}`,
			MOVED_CLOCK_MS: String(aheadMs),
		});
	await using ahead = await start(40 * dayMs);
	await using behind = await start(-40 * dayMs);
	await using right = await start(0);
	let admitted = 0;
	for (let number = 0; number < 20; number++)
		for (const [name, server] of Object.entries({ ahead, behind, right }))
			if ((await uploadTids(server.url, client, [`${name}-${number}`])).status === 201) admitted++;
	assert.ok(admitted > 0 && admitted <= 30, `${admitted} admitted of 30`);
	const answers: HitAnswer[] = [];
	for (const { url } of [ahead, behind, right]) {
		const answer = await fetch(`${url}/hit`, {
			method: 'POST',
			headers: { 'content-type': 'application/json', 'user-agent': browserUserAgent },
			body: JSON.stringify({ aid: client.aid, url: 'https://www.acme.example/' }),
		});
		answers.push((await answer.json()) as HitAnswer);
	}
	for (const { cask, caskExpiresAt } of answers) {
		const lifetimeMs = Date.parse(caskExpiresAt) - Date.now();
		assert.ok(Math.abs(lifetimeMs - dayMs) < 60_000, caskExpiresAt);
		for (const { url } of [ahead, behind, right])
			assert.equal((await fetch(`${url}/visscores?cask=${cask}`)).status, 200);
	}
});
