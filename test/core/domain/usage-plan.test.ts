import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { monthAt, standardPlan } from '../../../src/core/domain/usage-plan.ts';
import { dayMs } from '../../../src/core/durations.ts';

const at = (iso: string) => Date.parse(iso);

test('the standard plan has the limits of the spec', () => {
	assert.deepEqual(standardPlan, {
		name: 'standard',
		ratePerSecond: 10,
		burst: 1,
		quotaPerMonth: 1_000_000,
		timeoutMs: 5000,
		maxEvents: 30,
	});
});

test('a month lasts from the 1st, 00:00 UTC, to the 1st of the next', () => {
	for (const [time, name, start, end] of [
		['2026-11-21T10:00:00Z', '2026-11', '2026-11-01T00:00:00Z', '2026-12-01T00:00:00Z'],
		['2026-11-01T00:00:00.000Z', '2026-11', '2026-11-01T00:00:00Z', '2026-12-01T00:00:00Z'],
		['2026-11-30T23:59:59.999Z', '2026-11', '2026-11-01T00:00:00Z', '2026-12-01T00:00:00Z'],
		['2026-12-01T00:00:00.000Z', '2026-12', '2026-12-01T00:00:00Z', '2027-01-01T00:00:00Z'],
		['2026-12-31T23:59:59.999Z', '2026-12', '2026-12-01T00:00:00Z', '2027-01-01T00:00:00Z'],
		['2027-01-31T12:00:00Z', '2027-01', '2027-01-01T00:00:00Z', '2027-02-01T00:00:00Z'],
		['2026-02-28T23:59:59.999Z', '2026-02', '2026-02-01T00:00:00Z', '2026-03-01T00:00:00Z'],
		['2028-02-28T23:59:59.999Z', '2028-02', '2028-02-01T00:00:00Z', '2028-03-01T00:00:00Z'],
		['2028-02-29T12:00:00Z', '2028-02', '2028-02-01T00:00:00Z', '2028-03-01T00:00:00Z'],
		['2100-02-28T12:00:00Z', '2100-02', '2100-02-01T00:00:00Z', '2100-03-01T00:00:00Z'],
	] as const)
		assert.deepEqual(monthAt(at(time)), { name, startMs: at(start), endMs: at(end) }, time);
});

test('months have the right number of days', () => {
	const days = (name: string) => {
		const { startMs, endMs } = monthAt(at(`${name}-15T00:00:00Z`));
		return (endMs - startMs) / dayMs;
	};
	assert.deepEqual(
		Array.from({ length: 12 }, (_, index) => days(`2026-${String(index + 1).padStart(2, '0')}`)),
		[31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31],
	);
	assert.equal(days('2028-02'), 29);
	assert.equal(days('2000-02'), 29);
	assert.equal(days('2100-02'), 28);
});

test('times in any order are in their month, and months follow each other without a gap', () => {
	const time = fc.integer({ min: at('2000-01-01T00:00:00Z'), max: at('2099-12-31T23:59:59Z') });
	fc.assert(
		fc.property(fc.array(time, { minLength: 1, maxLength: 20 }), (times) => {
			for (const nowMs of times) {
				const { name, startMs, endMs } = monthAt(nowMs);
				assert.ok(startMs <= nowMs && nowMs < endMs);
				assert.equal(name, new Date(nowMs).toISOString().slice(0, 7));
				assert.equal(monthAt(endMs).startMs, endMs);
				assert.equal(monthAt(startMs - 1).endMs, startMs);
			}
		}),
	);
});

test("the machine's time zone does not matter", () => {
	const before = process.env.TZ;
	try {
		for (const zone of ['Pacific/Auckland', 'America/Los_Angeles']) {
			process.env.TZ = zone;
			assert.equal(monthAt(at('2026-11-30T23:30:00Z')).name, '2026-11', zone);
			assert.equal(monthAt(at('2026-12-01T00:30:00Z')).startMs, at('2026-12-01T00:00:00Z'), zone);
		}
	} finally {
		if (before === undefined) delete process.env.TZ;
		else process.env.TZ = before;
	}
});
