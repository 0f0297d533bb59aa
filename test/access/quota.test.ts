import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { QuotaCounter, type QuotaLedger } from '../../src/access/quota.ts';
import { standardPlan, type UsagePlan } from '../../src/access/usage-plan.ts';
import type { QuotaLease, UsageReport } from '../../src/store/store.ts';

const november = Date.UTC(2026, 10, 21, 10);
const december = Date.UTC(2026, 11, 1);
const largestLease = 75;

/** Leases as a store does, in memory. `delay` stands for the time that a database takes. */
class MemoryLedger implements QuotaLedger {
	readonly #rows = new Map<string, { leased: number; used: number }>();
	readonly #delay: () => Promise<unknown>;
	leases = 0;

	constructor(delay: () => Promise<unknown> = setImmediate) {
		this.#delay = delay;
	}

	row(keyId: string, month = '2026-11'): { leased: number; used: number } {
		return this.#rows.get(`${keyId} ${month}`) ?? { leased: 0, used: 0 };
	}

	async leaseQuota(keyId: string, month: string, { quotaPerMonth }: UsagePlan): Promise<QuotaLease> {
		await this.#delay();
		this.leases++;
		const { leased, used } = this.row(keyId, month);
		const granted = Math.min(largestLease, Math.ceil(Math.max(0, quotaPerMonth - leased) / 20));
		this.#rows.set(`${keyId} ${month}`, { leased: leased + granted, used });
		return { granted, leased: leased + granted };
	}

	async recordUsage(reports: readonly UsageReport[]): Promise<void> {
		await this.#delay();
		for (const { keyId, month, used, returned } of reports) {
			const row = this.row(keyId, month);
			this.#rows.set(`${keyId} ${month}`, { leased: row.leased - returned, used: row.used + used });
		}
	}
}

function noTrouble(error: unknown): never {
	throw error;
}

function counterFor(t: TestContext, ledger: QuotaLedger, now = () => november): QuotaCounter {
	const counter = new QuotaCounter(ledger, now, noTrouble);
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

test('several servers together never exceed a quota, in whatever order the ledger answers; what they give back is not lost', async () => {
	const requests = fc.array(fc.record({ server: fc.nat(3), count: fc.integer({ min: 1, max: 40 }) }), {
		minLength: 1,
		maxLength: 10,
		size: 'max',
	});
	await fc.assert(
		fc.asyncProperty(fc.nat(300), requests, fc.scheduler(), async (quota, waves, scheduler) => {
			const ledger = new MemoryLedger(() => scheduler.schedule(Promise.resolve()));
			const plan = planOf(quota);
			const counters = Array.from({ length: 4 }, () => new QuotaCounter(ledger, () => november, noTrouble));
			const taken = waves.map(({ server, count }) => take(counters[server] as QuotaCounter, plan, count));
			const granted = sum(await scheduler.waitFor(Promise.all(taken)));
			const asked = sum(waves.map(({ count }) => count));
			assert.ok(granted <= Math.min(quota, asked), `${granted} of ${quota} for ${asked}`);

			await scheduler.waitFor(Promise.all(counters.map((counter) => counter.stop())));
			assert.deepEqual(ledger.row('k_1'), { leased: granted, used: granted });

			const next = new QuotaCounter(ledger, () => november, noTrouble);
			const rest = await scheduler.waitFor(take(next, plan, quota + 1));
			assert.equal(granted + rest, quota);
			await scheduler.waitFor(next.stop());
		}),
		{ numRuns: 60 },
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

test('after the first request nobody waits for the ledger', async (t) => {
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

test('keys have quotas of their own', async (t) => {
	const counter = counterFor(t, new MemoryLedger());
	assert.equal(await take(counter, planOf(3), 5, 'k_1'), 3);
	assert.equal(await take(counter, planOf(7), 9, 'k_2'), 7);
});

test('a used-up quota is asked for again after a second, not before', async (t) => {
	let nowMs = november;
	const ledger = new MemoryLedger();
	const counter = counterFor(t, ledger, () => nowMs);
	assert.equal(await take(counter, planOf(1), 2), 1);
	const { leases } = ledger;
	nowMs += 999;
	assert.equal(counter.take('k_1', planOf(2)), false);
	assert.equal(ledger.leases, leases);
	nowMs += 1;
	assert.equal(await counter.take('k_1', planOf(2)), true);
});

test('a new month has its whole quota; what was leased of the old one is given back', async (t) => {
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

test('a quota that was used up is not, from the first moment of the next month', async (t) => {
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

test('usage is reported once, also where the ledger fails now and then', async () => {
	await fc.assert(
		fc.asyncProperty(fc.array(fc.boolean(), { minLength: 1, maxLength: 15 }), async (works) => {
			const ledger = new MemoryLedger();
			const record = ledger.recordUsage.bind(ledger);
			let isWorking = true;
			ledger.recordUsage = (reports) =>
				isWorking ? record(reports) : Promise.reject(new Error('disk full'));
			const troubles: unknown[] = [];
			const counter = new QuotaCounter(
				ledger,
				() => november,
				(error) => troubles.push(error),
			);
			let granted = 0;
			for (isWorking of works) {
				granted += await take(counter, planOf(1000), 3);
				await counter.report();
				if (isWorking) assert.equal(ledger.row('k_1').used, granted);
			}
			assert.equal(troubles.length, works.filter((working) => !working).length);
			isWorking = true;
			await counter.stop();
			assert.deepEqual(ledger.row('k_1'), { leased: granted, used: granted });
		}),
		{ numRuns: 30 },
	);
});

test('where no lease can be had, whoever waits for it is told, and the next one asks again', async (t) => {
	const ledger = new MemoryLedger();
	const lease = ledger.leaseQuota.bind(ledger);
	ledger.leaseQuota = () => Promise.reject(new Error('disk full'));
	const counter = counterFor(t, ledger);
	const taken = Array.from({ length: 3 }, () => counter.take('k_1', planOf(10)));
	for (const outcome of await Promise.allSettled(taken)) assert.equal(outcome.status, 'rejected');
	ledger.leaseQuota = lease;
	assert.equal(await counter.take('k_1', planOf(10)), true);
});

test('tells what remains of the month', async (t) => {
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
