import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openAccount } from '../../../shared-server.ts';
import { event } from '../../../support.ts';
import { askUsage } from './ask.ts';

test('returns the plan and its current usage', async () => {
	const plan = { ratePerSecond: 5, burst: 20, quotaPerMonth: 1000, timeoutMs: 4000, maxEvents: 40 };
	const service = await openAccount(plan);
	// The store tells the month, by its own clock.
	const now = new Date();
	const resetsAt = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1)).toISOString();
	const expected = { plan: service.planName, ...plan, resetsAt };
	const first = await askUsage(service);
	assert.equal(first.status, 200);
	assert.equal(first.headers.get('content-type'), 'application/json; charset=utf-8');
	assert.deepEqual(await first.json(), { ...expected, used: 0, forfeited: 0, remaining: 1000 });
	for (let count = 0; count < 7; count++) await service.upload({ aid: service.aid, data: [event()] });
	await service.upload('{');
	assert.deepEqual(await (await askUsage(service)).json(), {
		...expected,
		used: 8,
		forfeited: 0,
		remaining: 992,
	});
});

test('uses neither rate nor quota', async () => {
	const service = await openAccount({ ratePerSecond: 0.001, burst: 1, quotaPerMonth: 1 });
	for (let count = 0; count < 5; count++) {
		const answer = await askUsage(service);
		assert.equal(answer.status, 200);
		assert.match(answer.headers.get('ratelimit') ?? '', /^"rate";r=1, "quota";r=1;/);
	}
	assert.equal((await service.upload({ aid: service.aid, data: [event()] })).status, 201);
	assert.equal((await service.upload({ aid: service.aid, data: [event()] })).status, 429);
	const { used, remaining } = (await (await askUsage(service)).json()) as Record<string, number>;
	assert.deepEqual([used, remaining], [1, 0]);
});

test('returns the usage of one key only', async () => {
	const service = await openAccount();
	const other = await openAccount();
	await service.upload({ aid: service.aid, data: [event()] });
	const { plan, used } = (await (await askUsage(service, { 'x-api-key': other.key })).json()) as {
		plan: string;
		used: number;
	};
	assert.deepEqual([plan, used], [other.planName, 0]);
});

test('tells what the amounts of an account are in, where the request names it', async () => {
	const service = await openAccount();
	const ask = async () =>
		(
			await fetch(`${service.url}/usage?aid=${service.aid}`, { headers: { 'x-api-key': service.key } })
		).json();
	const told = async () => {
		const { currency, decimals } = (await ask()) as Record<string, unknown>;
		return { currency, decimals };
	};
	assert.deepEqual(await told(), { currency: 'GBP', decimals: 2 });
	await service.store.control.updateAccount(service.aid, { currency: 'JPY' });
	await service.directory.refresh();
	assert.deepEqual(await told(), { currency: 'JPY', decimals: 0 });
	assert.ok(!('currency' in ((await (await askUsage(service)).json()) as object)));
});
