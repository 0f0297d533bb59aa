import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attribute } from '../../../src/capabilities/reports/attribution.ts';
import { seededRandom } from '../../../src/kit/random.ts';
import type { AttributionModel } from '../../../src/kit/reports/attribution-model.ts';
import type { Report } from '../../../src/kit/reports/report.ts';
import { reportPage } from '../../../src/kit/reports/report-page.ts';
import { reportCsv, reportText } from '../../../src/kit/reports/report-table.ts';
import { reportOf } from '../../reports.ts';
import { allTime, journey, lostPaths, touch } from './made-up.ts';

const definition = reportOf('attribution');

function attribution(models: readonly AttributionModel[]): Report {
	const journeys = [
		journey('A', [[20, 500]], [touch('email', 1), touch('direct', 20)]),
		journey('B', [[21, 1000]], [touch('social', 7), touch('email', 14), touch('email', 21)]),
	];
	const made = attribute(
		journeys,
		{ lost: lostPaths([{ labels: ['social'], visitors: 2 }]) },
		{
			by: ['channel'],
			models,
			period: allTime,
			basis: 'event',
			halfLifeDays: 7,
			intervals: false,
			random: seededRandom(1),
		},
	);
	const terms = { aid: 'c-a-x', from: null, to: null, asOf: '2026-02-01T00:00:00.000Z', timezone: 'UTC' };
	return { ...terms, currency: 'GBP', by: ['channel'], ...made, rows: made.rows as never };
}

/** The lines of a table, under its title. */
function tableUnder(text: string, title: string): string[][] {
	const [, table = ''] = text.split(`\n${title}\n`);
	return (table.split('\n\n')[0] as string).split('\n').map((line) => line.split(/ {2,}/));
}

test('several models are columns, a table for each amount', () => {
	const text = reportText(definition, attribution(['first', 'linear']));
	assert.deepEqual(tableUnder(text, 'New subscriptions'), [
		['channel', 'visitors', 'arrivals', 'assist ratio', 'first', 'linear'],
		['social', '-', '-', '-', '1', '0.33'],
		['email', '-', '-', '1', '1', '1.17'],
		['direct', '-', '-', '0', '0', '0.50'],
	]);
	assert.deepEqual(tableUnder(text, 'Net revenue').slice(0, 2), [
		['channel', 'first', 'linear'],
		['social', '£10.00', '£3.33'],
	]);
	assert.match(text, /\nConversion rate\n/);
	const page = reportPage(definition, attribution(['first', 'linear']));
	for (const heading of ['<h2>New subscriptions</h2>', '<h2>Net revenue per visitor</h2>', '>linear</th>'])
		assert.ok(page.includes(heading), heading);
});

test('one model is one table, and so are several in the long form and in CSV', () => {
	const one = reportText(definition, attribution(['linear']));
	const long = reportText(definition, attribution(['first', 'linear']), true);
	assert.match(
		one,
		/\nWith credit to all touches equally\nchannel +visitors +arrivals +new subscriptions +share of subscriptions +conversion rate +net /,
	);
	assert.match(
		long,
		/\nchannel +visitors +arrivals +assist ratio +model +new subscriptions +first payments /,
	);
	for (const text of [one, long]) assert.doesNotMatch(text, /\nNet revenue\n/);
	assert.equal(long.match(/ {2}(first|linear) {2}/g)?.length, 6);
	const csv = reportCsv(definition, attribution(['first', 'linear']));
	assert.match(csv, /^channel,visitors,arrivals,assistRatio,model,trials,subscriptions,/);
	assert.match(reportPage(definition, attribution(['first', 'linear']), { isLong: true }), />model<\/th>/);
});
