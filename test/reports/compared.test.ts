import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { dayMs } from '../../src/durations.ts';
import { OperatorError } from '../../src/errors.ts';
import { reportPage } from '../../src/reports/report-page.ts';
import { reportCsv, reportText } from '../../src/reports/report-table.ts';
import { allReports } from '../../src/reports/reports.ts';
import { saveSpending } from '../../src/store/account/reading/journey-rows.ts';
import { engines, openFor } from '../store/engines.ts';
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
		assert.deepEqual(now.compared, await report(store, id, definition.kind, before), definition.kind);
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
	await add(store, id, [sale('D', 'S-4', 50, huge)]);
	const { totals } = await report(store, id, 'attribution');
	assert.equal(totals?.netPence, huge + 2800);
	await add(store, id, [sale('E', 'S-5', 51, huge), sale('F', 'S-5', 52, -huge)]);
	for (const { kind } of allReports.filter(
		(one) => one.parameters.includes('compare') && !['spend', 'hosts'].includes(one.kind),
	))
		await assert.rejects(
			report(store, id, kind),
			(error) =>
				error instanceof OperatorError && /come to more than 9007199254740991 pence/.test(error.message),
			kind,
		);
	assert.ok(await report(store, id, 'attribution', { from: '2026-02-01', to: '2026-02-15' }));
});
