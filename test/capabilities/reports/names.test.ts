import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { attribute } from '../../../src/capabilities/reports/attribution.ts';
import { describePaths } from '../../../src/capabilities/reports/paths.ts';
import type { Touch } from '../../../src/core/domain/touch.ts';
import { displayWidth } from '../../../src/kit/format/text-table.ts';
import { seededRandom } from '../../../src/kit/random.ts';
import { quotedName } from '../../../src/kit/reports/label.ts';
import type { Report } from '../../../src/kit/reports/report.ts';
import { reportPage } from '../../../src/kit/reports/report-page.ts';
import { reportCsv, reportText } from '../../../src/kit/reports/report-table.ts';
import { codePoint } from '../../code-point.ts';
import { reportOf } from '../../reports.ts';
import { allTime, journey, lostPaths, touch } from './made-up.ts';

const reserved = ['(none)', '(other)', '(not set)', '(start)', '(conversion)'];
const rightToLeft = 'edirrevo \u202eltr';
const odd = [
	...reserved,
	...[
		'"(none)"',
		'"',
		'a\u001fb',
		'a',
		'a\\u001fb',
		'line\nbreak',
		'\u001b[2J',
		rightToLeft,
		'x'.repeat(240),
	],
	...[
		'👩‍👩‍👧 family',
		'日本語',
		'عربى',
		'e\u0301te\u0301',
		'=cmd()',
		' =cmd()',
		'＝cmd()',
		'@x',
		'<b>&',
		'__proto__',
	],
];
const campaign = (name: string | null, day = 5): Touch => ({ ...touch('email', day), campaign: name });
const journeys = odd.map((name, number) => journey(`S-${number}`, [[9, 100]], [campaign(name)]));
const withOurs = [
	...journeys,
	journey('S-none', [[9, 100]]),
	journey('S-not-set', [[9, 100]], [campaign(null)]),
];

const attribution = (by: readonly ('channel' | 'campaign')[]): Report => ({
	aid: 'c-a-x',
	from: null,
	to: null,
	asOf: '2026-02-01T00:00:00.000Z',
	timezone: 'UTC',
	currency: 'GBP',
	by,
	...attribute(
		withOurs,
		{ lost: lostPaths() },
		{
			by,
			models: ['linear'],
			period: allTime,
			basis: 'event',
			halfLifeDays: 7,
			intervals: false,
			random: seededRandom(1),
		},
	),
	rows: attribute(
		withOurs,
		{ lost: lostPaths() },
		{
			by,
			models: ['linear'],
			period: allTime,
			basis: 'event',
			halfLifeDays: 7,
			intervals: false,
			random: seededRandom(1),
		},
	).rows as never,
});

const name = fc.oneof(
	fc.constantFrom(...odd, ...odd.map((one) => JSON.stringify(one))),
	fc.string({ unit: codePoint, maxLength: 8 }),
	fc.string({ unit: fc.constantFrom('"', '\\', '(', 'u', '0', '\u0001', '\u202e'), maxLength: 6 }),
);

test('names read as what was sent, and never like another name or one of ours', () => {
	fc.assert(
		fc.property(name, name, (a, b) => {
			const [shownA, shownB] = [quotedName(a), quotedName(b)];
			assert.equal(shownA === shownB, a === b);
			assert.ok(!reserved.includes(shownA));
			assert.doesNotMatch(shownA, /[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/u);
			assert.equal(shownA.startsWith('"') ? JSON.parse(shownA) : shownA, a);
		}),
	);
	assert.equal(quotedName('(none)'), '"(none)"');
	assert.equal(quotedName('spring "sale"'), 'spring "sale"');
	assert.equal(quotedName(rightToLeft), '"edirrevo \\u202eltr"');
});

for (const by of [['campaign'], ['channel', 'campaign']] as const)
	test(`each name has a row of its own, by ${by}`, () => {
		const { rows } = attribution(by);
		assert.equal(rows.length, odd.length + 2);
		const names = rows.map((row) => row.campaign as string);
		assert.deepEqual(names.toSorted(), [...odd.map(quotedName), '(none)', '(not set)'].sort());
		for (const row of rows) {
			assert.equal((row.models as { linear: { subscriptions: number } }).linear.subscriptions, 1);
			if (by.length === 2) assert.equal(row.channel, row.campaign === '(none)' ? '(none)' : 'email');
		}
	});

test('columns of text are aligned whatever the names', () => {
	const lines = reportText(reportOf('attribution'), attribution(['channel', 'campaign'])).split('\n');
	const from = lines.findIndex((line) => line.startsWith('channel'));
	const table = lines.slice(from, from + odd.length + 3);
	assert.ok(table.length > odd.length && table.every((line) => !/[\p{Cc}\u202e]/u.test(line)));
	const widths = table.map(displayWidth);
	assert.equal(Math.max(...widths), Math.min(...widths), 'the last column is a number, aligned to the right');
	assert.ok(Math.max(...widths) < 280, 'a name of 240 characters is cut');
	assert.match(
		lines.join('\n'),
		/Names over 60 characters are cut in the middle; --json and --csv have them whole\./,
	);
	assert.deepEqual(['日本', '👩‍👩‍👧', 'e\u0301', 'ab', '🇬🇧'].map(displayWidth), [4, 2, 1, 2, 2]);
});

test('CSV has no formulas and one line for each row', () => {
	const csv = reportCsv(reportOf('attribution'), attribution(['campaign']));
	const lines = csv.trimEnd().split('\r\n');
	assert.equal(lines.length, odd.length + 3);
	for (const line of lines) assert.doesNotMatch(line, /^"?\s*[=+\-@＝]/);
});

test('a page keeps names apart from what is around them', () => {
	const page = reportPage(reportOf('attribution'), attribution(['campaign']));
	assert.match(page, /<th[^>]*><bdi>عربى<\/bdi><\/th>/);
	assert.match(page, /<bdi>&#60;b&#62;&#38;<\/bdi>/);
	assert.doesNotMatch(page, /<b>|\u202e|\u001b/);
});

test('paths have at most two hundred names, and say what is left out', () => {
	const many = Array.from({ length: 500 }, (_, number) =>
		journey(`S-${number}`, [[9, 100]], [touch(`channel ${number}`, 5), touch('email', 6)]),
	);
	const options = { by: ['channel'], period: allTime, basis: 'event', top: 20 } as const;
	const pages = { pages: [{ page: '/', subscriptions: 3 }], distinctPages: 150 };
	const { rows, transitions, distinct, notes } = describePaths(many, { ...options, ...pages });
	const names = new Set(transitions.flatMap(({ from, to }) => [from, to]));
	assert.equal(names.size, 200 + 2);
	assert.deepEqual([rows[0]?.path, rows[0]?.subscriptions], [['(other)', 'email'], 500 - 198]);
	assert.deepEqual(distinct, { paths: 199, transitions: 199 * 2 + 1, pages: 150 });
	assert.deepEqual(notes, [
		'The 20 most frequent of 199 paths are shown.',
		'The 1 most frequent of 150 pages are shown.',
	]);
});
