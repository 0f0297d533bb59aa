import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { retainedCohorts, retentionByAge } from '../../../src/capabilities/reports/retention.ts';
import { Calendar } from '../../../src/kit/reports/calendar.ts';
import { coursesOf, isPaid } from '../../../src/kit/reports/courses.ts';
import { shareText, withBounds } from '../../../src/kit/reports/share-interval.ts';
import { examples } from '../../quick.ts';
import { journey, madeUpJourneys } from './made-up.ts';

const utc = new Calendar('UTC');
const day = (month: number, of: number) => (Date.UTC(2026, month, of) - Date.UTC(2026, 0, 1)) / 86_400_000;
/** Paid each month, on the 10th. */
const monthly = (subid: string, from: number, times: number) =>
	journey(
		subid,
		Array.from({ length: times }, (_, n) => [day(from + n, 10), 500] as const),
	);

test('cohorts are counted at the end of each month, and survival does not rise where only an older cohort is left', () => {
	const asOfMs = Date.UTC(2026, 3, 20);
	const made = [
		...[monthly('A', 0, 4), monthly('B', 0, 4), monthly('C', 0, 1)],
		...[1, 1, 3, 3, 3].map((times, n) => monthly(`D${n}`, 1, times)),
		monthly('E', 3, 1),
	];
	const journeys = coursesOf(made, { newsletter: 31 }, asOfMs).filter(isPaid);
	const rows = retainedCohorts(journeys, { by: [], asOfMs, calendar: utc }, 24);
	const [january, february, april] = rows;
	assert.deepEqual(january, {
		month: '2026-01',
		subscriptions: 3,
		active: [3, 2, 2, null],
		pence: [1500, 1000, 1000, null],
		open: [0, 0, 0, null],
		likelyGone: [0, 0, 0, null],
		activeNow: 2,
		penceToDate: 4500,
	});
	assert.deepEqual([february?.active, february?.activeNow], [[5, 3, null], 3]);
	assert.deepEqual([april?.active, april?.activeNow, april?.penceToDate], [[null], 1, 500]);
	const all = retentionByAge(rows);
	assert.deepEqual(
		all.map(({ subscriptions, active, share, low, high }) => [subscriptions, active, share, low, high]),
		[
			[8, 8, 1, withBounds(1, 8).low, 1],
			[8, 5, 0.625, 0.3057, 0.8632],
			[3, 2, 0.625, 0.3057, 0.8632],
		],
	);
	assert.deepEqual([shareText(2, 3), shareText(45, 60)], ['2 of 3', '75.0 %']);
	assert.deepEqual(retainedCohorts(journeys, { by: [], asOfMs, calendar: utc }, 1)[0]?.active, [3, 2]);
});

test('pence of all ages are what was paid, and nobody is left whom nobody acquired', () => {
	fc.assert(
		fc.property(madeUpJourneys, fc.integer({ min: 7, max: 90 }), (made, newsletter) => {
			const asOfMs = Date.UTC(2028, 0, 1);
			const journeys = coursesOf(made, { newsletter }, asOfMs).filter(isPaid);
			for (const row of retainedCohorts(journeys, { by: ['channel'], asOfMs, calendar: utc }, 1200)) {
				const pence = row.pence.reduce<number>((sum, value) => sum + (value ?? 0), 0);
				assert.equal(pence, row.penceToDate);
				for (const active of row.active) assert.ok((active ?? 0) <= row.subscriptions);
			}
			const ages = retentionByAge(retainedCohorts(journeys, { by: [], asOfMs, calendar: utc }, 24));
			for (const { share, low, high } of ages) assert.ok(low <= share && share <= high && high <= 1);
		}),
		{ numRuns: examples(40) },
	);
});
