import assert from 'node:assert/strict';
import { test } from 'node:test';
import { roomyPlan } from '../../support.ts';
import { openFor, startWritingFor } from '../engines.ts';
import { freshPostgresDatabase } from '../postgres-server.ts';
import { becomes, sessionOn, startProxiedService } from './service.ts';

test('a database clock that has stepped back an hour: uploads go on', async (t) => {
	const plan = { ratePerSecond: 10, burst: 1 };
	const service = await startProxiedService(t, await freshPostgresDatabase(), plan);
	const session = await sessionOn(t, service.address);
	assert.equal((await service.upload(['before'])).status, 201);
	// What a clock an hour ahead has left behind.
	await session.query('UPDATE caskade_control.token_bucket SET at_ms = at_ms + 3600000');
	await becomes('an upload is stored', 1000, async () => (await service.upload(['after'])).status === 201);
	assert.deepEqual(await service.stored(), ['before', 'after']);
});

test('the bucket fills from the moment of the step on, whatever its tokens were', async (t) => {
	const address = await freshPostgresDatabase();
	const { tokens } = await startWritingFor(t, await openFor(t, address));
	const session = await sessionOn(t, address);
	const plan = { ...roomyPlan, ratePerSecond: 1000, burst: 100 };
	await tokens?.takeTokens('k_1', plan, 100);
	await session.query('UPDATE caskade_control.token_bucket SET tokens = 0, at_ms = at_ms + 86400000');
	assert.equal((await tokens?.takeTokens('k_1', plan, 100))?.granted, 0);
	await session.query('SELECT pg_sleep(0.12)');
	assert.equal((await tokens?.takeTokens('k_1', plan, 100))?.granted, 100);
});
