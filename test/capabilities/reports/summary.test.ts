import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dayMs } from '../../../src/core/durations.ts';
import { reportCsv, reportText } from '../../../src/kit/reports/report-table.ts';
import { type Engine, engines, openAccountOn } from '../../core/store/engines.ts';
import { reportOf } from '../../reports.ts';
import { fill, report, sale } from './filled.ts';
import { day0Ms } from './made-up.ts';

const period = { newsletter: 30 };

/** A pays on, B is past due on day 95 and lost on day 106, C comes on day 92, D only tries. */
const entries = [
	...[0, 30, 60, 90].map((day) => sale(`A-${day}`, 'A', day, 500)),
	...[0, 30, 60].map((day) => sale(`B-${day}`, 'B', day, 300)),
	...[sale('C-92', 'C', 92, 1000), sale('D-92', 'D', 92, 0)],
];

for (const engine of engines)
	test(`paying subscriptions and recurring revenue, now and a week before as it was known then, on ${engine.name}`, async () => {
		const { store } = await openAccountOn(engine);
		const id = await fill(store, 'c-a-summary', entries);
		const asked = (day: number) => report(store, id, 'summary', { asOf: day0Ms + day * dayMs, period });
		const made = await asked(95);
		assert.deepEqual(
			made.rows.map((row) => Object.values(row)),
			[
				['now', '2026-04-06', 3, 1, 0, 1800, 21_600, 300, 0, 0],
				['a week before', '2026-03-30', 2, 0, 0, 800, 9600, 0, 0, 0],
				['change', null, 1, 1, 0, 1000, 12_000, 300, 0, 0],
			],
		);
		const text = reportText(reportOf('summary'), made);
		assert.match(text, /\nnow +2026-04-06 +3 +1 +0 +£18\.00 +£216\.00 +£3\.00 +0 +0\n/);
		assert.match(reportCsv(reportOf('summary'), made), /^change,,1,1,0,1000,12000,300,0,0\r?$/m);
		assert.match(made.warnings?.join() ?? '', /1 of 3 subscriptions is at risk/);
		// It is what the report of movement closes with, and the week before what it closed with then.
		for (const day of [95, 99, 104, 108]) {
			const [now, before] = (await asked(day)).rows;
			for (const [of, row] of [
				[day, now],
				[day - 7, before],
			] as const) {
				const asOf = day0Ms + of * dayMs;
				const closing = (await report(store, id, 'movement', { asOf, period })).rows.at(-1) as {
					subscriptions: { closing: number };
					recurringPence: { closing: number };
				};
				assert.deepEqual(
					[row?.payingSubscriptions, row?.recurringPence],
					[closing.subscriptions.closing, closing.recurringPence.closing],
				);
			}
		}
		const [lost] = (await asked(108)).rows;
		assert.equal(lost?.payingSubscriptions, 2);
		assert.deepEqual([lost?.leftByWill, lost?.lapsed], [0, 1]);
		const other = await report(store, id, 'summary', { asOf: day0Ms + 95 * dayMs, evt: 'gift' });
		assert.equal(other.rows[0]?.payingSubscriptions, 0);
	});

test('how late renewals may come is what the account says, in the summary and the forecast as in movement', async () => {
	const { store } = await openAccountOn(engines[0] as Engine);
	const id = await fill(store, 'c-a-late-uk', entries);
	const settings = { graceDays: { newsletter: 3 } };
	const asked = (kind: string, asOf: number) => report(store, id, kind, { asOf, period, days: 30 }, settings);
	// B, due on day 90, is lost on day 93.
	const asOf = day0Ms + 95 * dayMs;
	const [now] = (await asked('summary', asOf)).rows;
	const closing = (await asked('movement', asOf)).rows.at(-1) as { subscriptions: { closing: number } };
	assert.deepEqual([now?.payingSubscriptions, closing.subscriptions.closing], [2, 2]);
	// 30 days later, what was told then is what is told of then.
	const told = (await asked('forecast', asOf)).rows as { part: string; highPence: number }[];
	const later = (await asked('forecast', asOf + 30 * dayMs)).rows as {
		part: string;
		earlierHighPence: number;
	}[];
	const highest = <Row extends { part: string }>(rows: readonly Row[]) =>
		rows.find(({ part }) => part === 'renewals of present');
	assert.equal(highest(later)?.earlierHighPence, highest(told)?.highPence);
});

test('the length of free trials says nothing of how often is paid what follows them', async () => {
	const { store } = await openAccountOn(engines[0] as Engine);
	const events = ['A', 'B', 'C'].flatMap((subid) => [
		sale(`${subid}-0`, subid, 0, 0),
		sale(`${subid}-1`, subid, 14, 500),
	]);
	const id = await fill(store, 'c-a-trials-uk', events);
	const asOf = day0Ms + 31 * dayMs;
	const made = await report(store, id, 'summary', { asOf });
	assert.deepEqual(
		[made.rows[0]?.payingSubscriptions, made.rows[0]?.pastDueSubscriptions, made.rows[0]?.recurringPence],
		[3, 0, null],
	);
	assert.match(made.warnings?.join() ?? '', /It is unknown how often 3 of 3 subscriptions are paid/);
});

test('where it is unknown how often anybody pays, recurring revenue is unknown, and not nothing', async () => {
	const { store } = await openAccountOn(engines[0] as Engine);
	const id = await fill(store, 'c-a-young-uk', [sale('A-0', 'A', 0, 500), sale('B-0', 'B', 9, 500)]);
	const asOf = day0Ms + 12 * dayMs;
	const made = await report(store, id, 'summary', { asOf });
	assert.deepEqual(
		made.rows.map((row) => Object.values(row)),
		[
			['now', '2026-01-13', 2, 0, 0, null, null, null, 0, 0],
			['a week before', '2026-01-06', 1, 0, 0, null, null, null, 0, 0],
			['change', null, 1, 0, 0, null, null, null, 0, 0],
		],
	);
	assert.match(made.warnings?.join() ?? '', /It is unknown how often 2 of 2 subscriptions are paid/);
	assert.match(reportText(reportOf('summary'), made), /\nnow +2026-01-13 +2 +0 +0 +- +- +- +0 +0\n/);
	const [now] = (await report(store, id, 'summary', { asOf, period: { newsletter: 'never' } })).rows;
	assert.equal(now?.recurringPence, 0);
});
