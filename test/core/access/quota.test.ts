import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { QuotaCounter, type QuotaLedger } from '../../../src/core/access/quota.ts';
import { monotonicMs } from '../../../src/core/clock.ts';
import type { QuotaHolding, QuotaSettlement } from '../../../src/core/domain/quota-lease.ts';
import { monthAt, standardPlan, type UsagePlan } from '../../../src/core/domain/usage-plan.ts';
import { dayMs } from '../../../src/core/durations.ts';
import { examples } from '../../quick.ts';
import { MemoryLedger, StoredQuotas } from '../store/memory-ledger.ts';

const november = Date.UTC(2026, 10, 21, 10);
const december = Date.UTC(2026, 11, 1);

function noError(error: unknown): never {
	throw error;
}

function counterOver(ledger: QuotaLedger, now = () => november): QuotaCounter {
	return new QuotaCounter(ledger, { now, monotonicMs, onError: noError });
}

function counterFor(t: TestContext, ledger: QuotaLedger, now = () => november): QuotaCounter {
	const counter = counterOver(ledger, now);
	t.after(() => counter.stop());
	return counter;
}

const planOf = (quotaPerMonth: number): UsagePlan => ({ ...standardPlan, quotaPerMonth });

/** Takes as many, all at once; tells how many were granted. */
async function take(counter: QuotaCounter, plan: UsagePlan, count: number, keyId = 'k_1'): Promise<number> {
	const taken = await Promise.all(Array.from({ length: count }, () => counter.take(keyId, plan)));
	return taken.filter((granted) => granted).length;
}

test('grants all of a quota and no more', async (t) => {
	for (const quota of [0, 1, 2, 19, 20, 21, 99, 100, 101, 1000]) {
		const counter = counterFor(t, new MemoryLedger());
		assert.equal(await take(counter, planOf(quota), quota + 50), quota, `quota ${quota}`);
		assert.equal(await take(counter, planOf(quota), 5), 0);
		assert.equal(counter.remaining('k_1', planOf(quota)), 0);
	}
});

test('several servers never exceed a quota, in whatever order the ledger answers, and returned leases are not lost', async () => {
	const requests = fc.array(fc.record({ server: fc.nat(3), count: fc.integer({ min: 1, max: 40 }) }), {
		minLength: 1,
		maxLength: 10,
		size: 'max',
	});
	await fc.assert(
		fc.asyncProperty(fc.nat(300), requests, fc.scheduler(), async (quota, waves, scheduler) => {
			const stored = new StoredQuotas();
			const newServer = () =>
				counterOver(new MemoryLedger(() => scheduler.schedule(Promise.resolve()), stored));
			const plan = planOf(quota);
			const counters = Array.from({ length: 4 }, newServer);
			const taken = waves.map(({ server, count }) => take(counters[server] as QuotaCounter, plan, count));
			const granted = sum(await scheduler.waitFor(Promise.all(taken)));
			const asked = sum(waves.map(({ count }) => count));
			assert.ok(granted <= Math.min(quota, asked), `${granted} of ${quota} for ${asked}`);

			await scheduler.waitFor(Promise.all(counters.map((counter) => counter.stop())));
			assert.deepEqual(stored.of('k_1', '2026-11'), { leased: granted, used: granted });

			const next = newServer();
			const rest = await scheduler.waitFor(take(next, plan, quota + 1));
			assert.equal(granted + rest, quota);
			await scheduler.waitFor(next.stop());
		}),
		{ numRuns: examples(30) },
	);
});

function sum(numbers: readonly number[]): number {
	return numbers.reduce((total, number) => total + number, 0);
}

test('a crash forfeits 100 requests at most', async (t) => {
	for (const quota of [10, 100, 1000, 1_000_000]) {
		const ledger = new MemoryLedger();
		const counter = counterFor(t, ledger);
		for (let granted = 0; granted < Math.min(quota, 400); ) {
			granted += await take(counter, planOf(quota), 1);
			await setImmediate();
			const forfeited = ledger.row('k_1').leased - granted;
			assert.ok(forfeited >= 0 && forfeited <= 100, `${forfeited} of ${quota}`);
		}
	}
});

test('after the first request, none waits for the ledger', async (t) => {
	const ledger = new MemoryLedger();
	const counter = counterFor(t, ledger);
	const plan = planOf(1_000_000);
	assert.notEqual(counter.take('k_1', plan), true);
	await setImmediate();
	for (let count = 0; count < 1000; count++) {
		assert.equal(counter.take('k_1', plan), true);
		await setImmediate();
	}
	assert.ok(ledger.leases < 30, `${ledger.leases} leases for 1,000 requests`);
});

test('each key has its own quota', async (t) => {
	const counter = counterFor(t, new MemoryLedger());
	assert.equal(await take(counter, planOf(3), 5, 'k_1'), 3);
	assert.equal(await take(counter, planOf(7), 9, 'k_2'), 7);
});

test('a used-up quota is checked again after a second, not before, whatever the clock says', async (t) => {
	const clock = { nowMs: november, monotonicMs: 5000 };
	const ledger = new MemoryLedger();
	const counter = new QuotaCounter(ledger, {
		now: () => clock.nowMs,
		monotonicMs: () => clock.monotonicMs,
		onError: noError,
	});
	t.after(() => counter.stop());
	assert.equal(await take(counter, planOf(1), 2), 1);
	const { leases } = ledger;
	clock.monotonicMs += 999;
	clock.nowMs += dayMs;
	assert.equal(counter.take('k_1', planOf(1)), false);
	assert.equal(ledger.leases, leases);
	clock.monotonicMs += 1;
	clock.nowMs -= 2 * dayMs;
	assert.equal(await counter.take('k_1', planOf(1)), false);
	assert.ok(ledger.leases > leases);
	assert.equal(await counter.take('k_1', planOf(2)), true, 'a larger quota is there at once');
});

test('a new month has its whole quota, and leases of the old one are returned', async (t) => {
	let nowMs = december - 1;
	const ledger = new MemoryLedger();
	const counter = counterFor(t, ledger, () => nowMs);
	const plan = planOf(200);
	assert.equal(await take(counter, plan, 150), 150);
	nowMs = december;
	assert.equal(await take(counter, plan, 300), 200);
	await counter.stop();
	assert.deepEqual(ledger.row('k_1', '2026-11'), { leased: 150, used: 150 });
	assert.deepEqual(ledger.row('k_1', '2026-12'), { leased: 200, used: 200 });
});

test('a used-up quota is available again from the first moment of the next month', async (t) => {
	let nowMs = december - 1;
	const counter = counterFor(t, new MemoryLedger(), () => nowMs);
	assert.equal(await take(counter, planOf(5), 6), 5);
	nowMs = december;
	assert.equal(await take(counter, planOf(5), 6), 5);
});

test('a lease that arrives after its month has ended admits nobody', async (t) => {
	let nowMs = december - 1;
	const open = Promise.withResolvers<void>();
	const ledger = new MemoryLedger(() => open.promise);
	const counter = counterFor(t, ledger, () => nowMs);
	const taken = counter.take('k_1', planOf(100));
	nowMs = december;
	// Another request of the same key begins the new month.
	const other = counter.take('k_1', planOf(100));
	open.resolve();
	assert.deepEqual(await Promise.all([taken, other]), [true, true]);
	await counter.stop();
	assert.deepEqual(ledger.row('k_1', '2026-11'), { leased: 0, used: 0 });
	assert.deepEqual(ledger.row('k_1', '2026-12'), { leased: 2, used: 2 });
});

test('usage is counted once, even if the ledger fails now and then', async (t) => {
	// A report by the counter's own timer would be one more failure.
	t.mock.timers.enable({ apis: ['setInterval'] });
	await fc.assert(
		fc.asyncProperty(fc.array(fc.boolean(), { minLength: 1, maxLength: 15 }), async (works) => {
			const ledger = new MemoryLedger();
			const settle = ledger.settleQuotas.bind(ledger);
			let isWorking = true;
			ledger.settleQuotas = (settlements) =>
				isWorking || settlements[0]?.ask.kind === 'lease'
					? settle(settlements)
					: Promise.reject(new Error('disk full'));
			const errors: unknown[] = [];
			const counter = new QuotaCounter(ledger, {
				now: () => november,
				monotonicMs,
				onError: (error) => errors.push(error),
			});
			let granted = 0;
			for (isWorking of works) {
				granted += await take(counter, planOf(1000), 3);
				// For leases that are under way.
				for (let turn = 0; turn < 5; turn++) await setImmediate();
				await counter.report();
				if (isWorking) assert.equal(ledger.row('k_1').used, granted);
			}
			assert.equal(errors.length, works.filter((working) => !working).length);
			isWorking = true;
			await counter.stop();
			assert.deepEqual(ledger.row('k_1'), { leased: granted, used: granted });
		}),
		{ numRuns: examples(30) },
	);
});

/** A ledger behind a network that loses questions and answers, and lets what was sent arrive late, or twice. */
class LossyLedger implements QuotaLedger {
	readonly #ledger: MemoryLedger;
	readonly #late: (readonly QuotaSettlement[])[] = [];
	faults: readonly Fault[] = [];

	constructor(stored: StoredQuotas) {
		this.#ledger = new MemoryLedger(setImmediate, stored);
	}

	async settleQuotas(settlements: readonly QuotaSettlement[]): Promise<(QuotaHolding | null)[]> {
		const [fault = 'none', ...rest] = this.faults;
		this.faults = rest;
		await setImmediate();
		if (fault === 'arrives late' || fault === 'arrives twice') this.#late.push(settlements);
		if (fault === 'is lost' || fault === 'arrives late') throw new Error('the connection is lost');
		const answer = this.#ledger.settleNow(settlements);
		if (fault === 'answer is lost') throw new Error('the connection is lost');
		return answer;
	}

	arrive(): void {
		for (const settlements of this.#late.splice(0)) this.#ledger.settleNow(settlements);
	}
}

const faults = ['none', 'is lost', 'answer is lost', 'arrives late', 'arrives twice'] as const;
type Fault = (typeof faults)[number];

test('no month exceeds its quota, whatever clocks, networks and crashes do, and reports are correct', async () => {
	const step = fc.record({
		server: fc.nat(2),
		/** The server's clock from then on. */
		nowMs: fc.oneof(
			fc.integer({ min: december - 5000, max: december + 5000 }),
			fc.integer({ min: november - 60 * dayMs, max: november + 60 * dayMs }),
		),
		requests: fc.nat(30),
		faults: fc.array(fc.constantFrom(...faults), { maxLength: 3 }),
		event: fc.constantFrom(
			'go on',
			'go on',
			'report',
			'report',
			'report',
			'late ones arrive',
			'crash',
			'stop',
		),
	});
	await fc.assert(
		fc.asyncProperty(fc.nat(200), fc.array(step, { maxLength: 40, size: 'max' }), async (quota, steps) => {
			const stored = new StoredQuotas();
			const plan = planOf(quota);
			const clocks = [november, november, november];
			const admitted = new Map<string, number>();
			const start = (server: number) => {
				const ledger = new LossyLedger(stored);
				const counter = new QuotaCounter(ledger, {
					now: () => clocks[server] as number,
					monotonicMs,
					onError: () => {},
				});
				return { ledger, counter };
			};
			const servers = [0, 1, 2].map(start);
			const all = [...servers];
			for (const { server, nowMs, requests, faults, event } of steps) {
				clocks[server] = nowMs;
				const { ledger, counter } = servers[server] as (typeof servers)[number];
				ledger.faults = faults;
				const { name } = monthAt(nowMs);
				for (let request = 0; request < requests; request++)
					if (await Promise.resolve(counter.take('k_1', plan)).catch(() => false))
						admitted.set(name, (admitted.get(name) ?? 0) + 1);
				if (event === 'report') await counter.report();
				if (event === 'late ones arrive') for (const { ledger } of all) ledger.arrive();
				if (event === 'stop') {
					ledger.faults = [];
					await counter.stop();
				}
				if (event === 'stop' || event === 'crash') {
					servers[server] = start(server);
					all.push(servers[server]);
				}
				for (const [month, count] of admitted) assert.ok(count <= quota, `${count} of ${quota} in ${month}`);
				for (const { month, leased, used } of stored.months()) {
					assert.ok(leased <= quota && used <= leased, `${used} of ${leased} of ${quota} in ${month}`);
					assert.ok(used <= (admitted.get(month) ?? 0), `${used} told, ${admitted.get(month)} admitted`);
				}
			}
			for (const { ledger, counter } of all) {
				ledger.faults = [];
				ledger.arrive();
				await counter.stop();
				ledger.arrive();
			}
			for (const { month, leased, used } of stored.months()) {
				assert.equal(used, admitted.get(month) ?? 0);
				if (!steps.some(({ faults }) => faults.some((fault) => fault.startsWith('arrives'))))
					assert.equal(leased, used, 'all that was not used is given back');
			}
		}),
		{ numRuns: examples(60) },
	);
});

test('a failed lease rejects the waiting requests, and the next one tries again', async (t) => {
	const ledger = new MemoryLedger();
	const settle = ledger.settleQuotas.bind(ledger);
	ledger.settleQuotas = () => Promise.reject(new Error('disk full'));
	const counter = counterFor(t, ledger);
	const taken = Array.from({ length: 3 }, () => counter.take('k_1', planOf(10)));
	for (const outcome of await Promise.allSettled(taken)) assert.equal(outcome.status, 'rejected');
	ledger.settleQuotas = settle;
	assert.equal(await counter.take('k_1', planOf(10)), true);
});

test('a server whose leases are no longer known starts again, and admits no more than the rest', async (t) => {
	const ledger = new MemoryLedger();
	const counter = counterFor(t, ledger);
	const plan = planOf(100);
	assert.equal(await take(counter, plan, 3), 3);
	ledger.stored.forgetLeases();
	const granted = await take(counter, plan, 200);
	assert.ok(granted > 50 && granted <= 97, `${granted} of 97`);
	await counter.stop();
	const { leased, used } = ledger.row('k_1');
	assert.ok(leased <= 100 && used <= granted + 3);
});

test('returns what remains of the month', async (t) => {
	const ledger = new MemoryLedger();
	const counter = counterFor(t, ledger);
	const plan = planOf(1000);
	assert.equal(counter.remaining('k_1', plan), 1000);
	for (let taken = 1; taken <= 200; taken++) {
		await counter.take('k_1', plan);
		await setImmediate();
		assert.equal(counter.remaining('k_1', plan), 1000 - taken);
	}
});
