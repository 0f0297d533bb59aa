import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { dayMs } from '../../../src/core/durations.ts';
import { OperatorError } from '../../../src/core/errors.ts';
import { saveSpending } from '../../../src/kit/reading/spending.ts';
import { reportPage } from '../../../src/kit/reports/report-page.ts';
import { reportCsv, reportText } from '../../../src/kit/reports/report-table.ts';
import { engines, openFor } from '../../core/store/engines.ts';
import { allReports, reportOf } from '../../reports.ts';
import { add, fill, report, sale, visit } from './filled.ts';
import { day0Ms } from './made-up.ts';

const [sqlite] = engines as [(typeof engines)[number]];

async function filled(t: TestContext) {
	const store = await openFor(t, await sqlite.installedAddress(t));
	const id = await fill(store, 'c-a-acme-uk', [
		...[visit(1, 10, 'A'), sale('A', 'S-1', 10.5, 500), sale('A-2', 'S-1', 40, 500)],
		...[visit(2, 40, 'B', 'paid search'), sale('B', 'S-2', 41, 900)],
		...[visit(3, 42, 'C', 'paid search'), sale('C', 'S-3', 43, 900)],
		sale('trial', 'S-9', 44, 0),
	]);
	const spent = (channel: string, day: string) => ({ day, channel, campaign: '', pence: 100 });
	const days = ['2025-02-10', '2026-01-10', '2026-02-10'];
	await store.transact(id, () => saveSpending(days.map((day) => spent('email', day))));
	return { store, id };
}

test('every report can be compared with an earlier period, as of as much earlier', async (t) => {
	const { store, id } = await filled(t);
	const period = { from: '2026-02-03', to: '2026-03-06', asOf: day0Ms + 80 * dayMs } as const;
	for (const definition of allReports.filter(({ parameters }) => parameters.includes('compare'))) {
		const now = await report(store, id, definition.kind, { ...period, compare: 'previous' });
		// 31 days, so 35: the next number of whole weeks.
		const before = { from: '2025-12-30', to: '2026-01-30', asOf: day0Ms + 45 * dayMs };
		const { answer: _, ...alone } = await report(store, id, definition.kind, before);
		assert.deepEqual(now.compared, alone, definition.kind);
		assert.match(reportText(definition, now), /\nCompared with\n/);
		assert.match(reportPage(definition, now), /<h2>Compared with<\/h2>/);
		assert.match(reportCsv(definition, now), /^period,/);
		const { compared } = await report(store, id, definition.kind, { ...period, compare: 'year' });
		assert.deepEqual([compared?.from, compared?.to], ['2025-02-04', '2025-03-07'], 'both are Tuesdays');
	}
	const { to: _, ...open } = period;
	const { compared } = await report(store, id, 'attribution', { ...open, compare: 'previous' });
	assert.deepEqual(
		[compared?.from, compared?.to],
		['2025-12-16', '2026-02-02'],
		'48 days to the end of today, so 49',
	);
	await assert.rejects(report(store, id, 'paths', { compare: 'year' }), /A comparison needs a period/);
	await assert.rejects(
		report(store, id, 'paths', { from: '2027-01-01', asOf: day0Ms + 80 * dayMs, compare: 'year' }),
		/A comparison of a period that has not begun needs its end/,
	);
});

test('calendar months are compared with calendar months, and weeks with weeks', async (t) => {
	const { store, id } = await filled(t);
	const comparedWith = async (from: string, to: string, compare: 'previous' | 'year') => {
		const asOf = Date.UTC(2026, 7, 15, 6);
		const { compared } = await report(store, id, 'movement', { from, to, asOf, compare });
		return [compared?.from, compared?.to, compared?.asOf];
	};
	// As long after the end of July as the report is after the end of August would be.
	assert.deepEqual(await comparedWith('2026-07-01', '2026-08-01', 'previous'), [
		...['2026-06-01', '2026-07-01'],
		'2026-07-15T06:00:00.000Z',
	]);
	assert.deepEqual(await comparedWith('2026-02-01', '2026-03-01', 'previous'), [
		...['2026-01-01', '2026-02-01'],
		'2026-07-18T06:00:00.000Z',
	]);
	const days = async (...asked: Parameters<typeof comparedWith>) =>
		(await comparedWith(...asked)).slice(0, 2);
	assert.deepEqual(await days('2026-04-01', '2026-07-01', 'previous'), ['2026-01-01', '2026-04-01']);
	assert.deepEqual(await days('2026-01-01', '2027-01-01', 'previous'), ['2025-01-01', '2026-01-01']);
	assert.deepEqual(await days('2026-02-01', '2026-03-01', 'year'), ['2025-02-01', '2025-03-01']);
	assert.deepEqual(await days('2026-08-03', '2026-08-10', 'previous'), ['2026-07-27', '2026-08-03']);
	assert.deepEqual(await days('2026-07-02', '2026-08-01', 'previous'), ['2026-05-28', '2026-06-27']);
});

test('a part of a month, a week or a day is marked, in figures, tables and pictures', async (t) => {
	const { store, id } = await filled(t);
	const period = { from: '2026-01-10', to: '2026-03-01', asOf: Date.UTC(2026, 1, 20, 6) };
	for (const kind of ['activity', 'movement', 'trials', 'attribution']) {
		const definition = reportOf(kind);
		const partsBy = async (every: 'day' | 'week' | 'month') => {
			const made = await report(store, id, kind, { ...period, every, by: [] });
			const rows = (made.series ?? made.rows) as readonly { part: string | null }[];
			return { made, parts: rows.map(({ part }) => part) };
		};
		const { made, parts } = await partsBy('month');
		// The only trial is of February.
		const january = kind === 'trials' ? [] : ['22 of 31 days'];
		assert.deepEqual(parts, [...january, '20 of 28 days so far'], kind);
		if (kind === 'trials') continue;
		assert.match(reportText(definition, made), /\nmonth +incomplete .*\n2026-01 +22 of 31 days /, kind);
		assert.match(reportCsv(definition, made), /^month,part,.*\r?\n2026-01,22 of 31 days,/, kind);
		assert.match(reportPage(definition, made), /2026-02 \(20 of 28 days so far\)/, kind);
		// Its series has rows only of spans in which somebody came or something is credited.
		if (kind === 'attribution') continue;
		const weeks = (await partsBy('week')).parts;
		assert.deepEqual(
			[weeks[0], ...new Set(weeks.slice(1, -1)), weeks.at(-1)],
			['2 of 7 days', null, '5 of 7 days so far'],
		);
		const days = (await partsBy('day')).parts;
		assert.deepEqual([...new Set(days)], [null, 'so far'], kind);
	}
});

test('a filter that names nothing known is told, with the nearest names', async (t) => {
	const { store, id } = await filled(t);
	const warningsOf = async (kind: string, fields: object) =>
		(await report(store, id, kind, { intervals: false, model: ['linear'], ...fields })).warnings ?? [];
	for (const kind of ['attribution', 'paths', 'ltv', 'renewals', 'coverage', 'movement', 'retention'])
		assert.match(
			(await warningsOf(kind, { evt: 'newsleter' })).join(),
			/Nothing in this report has the event type 'newsleter'; the nearest is 'newsletter'\./,
			kind,
		);
	assert.match(
		(await warningsOf('attribution', { channel: 'Paid Search' })).join(),
		/the channel 'Paid Search'; the nearest are 'paid search' and 'email'\./,
	);
	assert.match(
		(await warningsOf('renewals', { period: { foo: 30 } })).join(),
		/the event type 'foo'; the nearest is 'newsletter'\./,
	);
	assert.deepEqual(await warningsOf('attribution', { channel: 'email', evt: 'newsletter' }), []);
	const typed = { day: '2026-01-10', channel: 'Paid Search', campaign: '', pence: 100 };
	await store.transact(id, () => saveSpending([typed]));
	assert.deepEqual(await warningsOf('spend', {}), [
		"Nothing in this report has the channel 'Paid Search'; the nearest are 'paid search' and 'email'.",
	]);
	await store.transact(id, () => saveSpending([{ ...typed, campaign: 'sprng' }]));
	assert.deepEqual((await warningsOf('spend', { by: ['channel', 'campaign'] })).slice(0, 2), [
		"Nothing in this report has the channel 'Paid Search'; the nearest are 'paid search' and 'email'.",
		"Nothing in this report has the campaign 'sprng'.",
	]);
});

test('sums that would not be exact are refused', async (t) => {
	const { store, id } = await filled(t);
	const huge = 2 ** 52;
	await add(store, id, [sale('G', 'S-9', 50, huge)]);
	const { totals } = await report(store, id, 'attribution');
	assert.equal(totals?.netPence, huge + 2800);
	await add(store, id, [sale('E', 'S-5', 51, huge), sale('F', 'S-5', 52, -huge)]);
	for (const { kind } of allReports.filter(
		(one) => one.parameters.includes('compare') && !['spend', 'hosts', 'funnel'].includes(one.kind),
	))
		await assert.rejects(
			report(store, id, kind),
			(error) =>
				error instanceof OperatorError && /come to more than 9007199254740991 pence/.test(error.message),
			kind,
		);
	assert.ok(await report(store, id, 'attribution', { from: '2026-02-01', to: '2026-02-15' }));
});
