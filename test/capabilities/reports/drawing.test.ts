import assert from 'node:assert/strict';
import { test } from 'node:test';
import { activityReport } from '../../../src/capabilities/reports/activity.ts';
import { summaryReport } from '../../../src/capabilities/reports/summary.ts';
import { moneyOf } from '../../../src/core/format/money.ts';
import { curves, withEarlier } from '../../../src/kit/reports/report-curves.ts';
import { drawingStyle, htmlTable } from '../../../src/kit/reports/report-drawing.ts';
import { bars, waterfall } from '../../../src/kit/reports/report-rows.ts';
import { headOf } from '../../../src/kit/reports/report-table.ts';

const pounds = moneyOf('GBP');

test('amounts have the sign, the symbol and the places of their currency', () => {
	assert.deepEqual([123_456, -2864, 0, 5].map(pounds), ['£1,234.56', '−£28.64', '£0.00', '£0.05']);
	assert.deepEqual([-0, -0.4].map(pounds), ['£0.00', '£0.00'], 'what is rounded to nothing has no sign');
	assert.deepEqual([moneyOf('JPY')(1234), moneyOf('EUR')(1234)], ['JP¥1,234', '€12.34']);
});

test('bars begin at a line at zero, negative ones to its left, with a title and a scale', () => {
	const table = [
		{ channel: 'email', netPence: 3014 },
		{ channel: 'social', netPence: -2864 },
	];
	const drawn = `${bars(table, 'netPence', { title: 'Net revenue', money: pounds })}`;
	assert.match(drawn, /<figcaption>Net revenue<\/figcaption>/);
	const [zero] = /class="axis" x1="([\d.]+)"/.exec(drawn)?.slice(1).map(Number) ?? [];
	const rects = [...drawn.matchAll(/<rect class="[^"]+" x="([\d.]+)" y="[\d.]+" width="([\d.]+)"/g)].map(
		([, x, width]) => [Number(x), Number(x) + Number(width)],
	);
	assert.ok(Math.abs((rects[0]?.[0] ?? 0) - (zero ?? -1)) < 0.2, 'from zero to the right');
	assert.ok(Math.abs((rects[1]?.[1] ?? 0) - (zero ?? -1)) < 0.2, 'from the left to zero');
	for (const text of ['£30.14', '−£28.64', '>£0<']) assert.ok(drawn.includes(text), text);
	assert.doesNotMatch(drawn, /style="/, 'nothing that printers leave out');
	assert.match(
		`${bars(Array(150).fill(table[0]), 'netPence', { title: 'Net revenue' })}`,
		/The picture has the first 70 of 150 rows\./,
	);
});

test('intervals are drawn on bars, on the scale of the bars', () => {
	const table = [
		{ channel: 'email', subscriptions: 10, low: 5, high: 20 },
		{ channel: 'social', subscriptions: 1, low: null, high: null },
	];
	const [drawn = ''] =
		`${bars(table, 'subscriptions', { title: 'Subscriptions', bounds: ['low', 'high'] })}`.split('</svg>');
	const [zero, width] = (/class="bar" x="([\d.]+)" y="[\d.]+" width="([\d.]+)"/.exec(drawn) ?? [])
		.slice(1)
		.map(Number) as [number, number];
	// The first bar is 10, of a scale that goes to 20.
	const end = zero + 2 * width;
	const intervals = [...drawn.matchAll(/class="interval" d="M([\d.]+) [\d.]+H([\d.]+)M/g)];
	assert.deepEqual(
		intervals.map(([, ...bounds]) => bounds.map((bound) => Math.round(Number(bound)))),
		[[zero + (end - zero) / 4, end].map(Math.round)],
	);
	assert.doesNotMatch(`${bars(table, 'subscriptions', { title: 'Subscriptions' })}`, /class="interval"/);
});

test('bars upon each other go up from zero, and losses down', () => {
	const of = (name: string, ...values: number[]) => ({
		name,
		points: values.map((y, place) => ({ x: `2026-0${place + 1}`, y })),
	});
	const drawn = `${curves([of('renewed', 300, 100), of('refunded', -100, 0), of('acquired', 200, 100)], { title: 'Paid', isStacked: true })}`;
	const rects = [
		...drawn.matchAll(/y="([\d.]+)" width="[\d.]+" height="([\d.]+)" fill="currentColor"><title>([^<]+)</g),
	];
	const [renewed, , refunded, , acquired] = rects.map(([, y, height]) => [
		Number(y),
		Number(y) + Number(height),
	]) as [number, number][];
	const zero = Number(/y1="([\d.]+)" y2="[\d.]+" class="axis"/.exec(drawn)?.[1]);
	assert.deepEqual(rects.map(([, , , title]) => title).slice(0, 3), [
		'renewed, 2026-01: 300',
		'renewed, 2026-02: 100',
		'refunded, 2026-01: −100',
	]);
	assert.ok(Math.abs((renewed?.[1] ?? 0) - zero) < 0.2, 'renewed from zero');
	assert.ok(Math.abs((refunded?.[0] ?? 0) - zero) < 0.2, 'refunded below zero');
	assert.ok(Math.abs((acquired?.[1] ?? 0) - (renewed?.[0] ?? 1)) < 0.2, 'acquired upon renewed');
});

test('pages have styles for dark screens, for paper and for small screens', () => {
	for (const query of ['prefers-color-scheme:dark', 'print', 'max-width:40rem'])
		assert.ok(drawingStyle.includes(query), query);
	const wide = `${htmlTable([{ a: 1, b: 2, c: 3, d: 4, e: 5_000_000 }], pounds)}`;
	assert.match(wide, /class="wide many"/);
	assert.match(wide, />5,000,000</);
	assert.match(`${htmlTable([{ a: 1 }], pounds)}`, /class="wide"/);
});

test('a report says in words what it is about', () => {
	const report = {
		aid: 'c-a-x',
		timezone: 'Europe/London',
		currency: 'GBP',
		rows: [],
		from: '2026-06-01',
		to: '2026-07-01',
		asOf: '2026-07-05T09:30:00.000Z',
	};
	assert.match(
		headOf(activityReport, report).join('\n'),
		/^c-a-x, 1\s–\s30 June 2026, as known on 5 July 2026 at 10:30 \(Europe\/London\)$/,
	);
	assert.match(headOf(activityReport, { ...report, from: null })[0] ?? '', /^c-a-x, until 30 June 2026,/);
	assert.match(headOf(activityReport, { ...report, to: null })[0] ?? '', /^c-a-x, from 1 June 2026,/);
	const ofNow = headOf(summaryReport, { ...report, from: null, to: null });
	assert.equal(ofNow[0], 'c-a-x, as known on 5 July 2026 at 10:30 (Europe/London)');
});

test('the earlier period is a pale line beneath the same places, and what is unfinished is dashed', () => {
	const points = (values: readonly number[], month: string) =>
		values.map((y, place) => ({ day: `2026-${month}-0${place + 1}`, y }));
	const drawn = `${curves(
		withEarlier(points([1, 3, 2], '02'), points([2, 2, 4], '01'), ({ day, y }) => ({
			x: day,
			y,
			part: day === '2026-02-03' ? 'so far' : null,
		})),
		{ title: 'Sales' },
	)}`;
	assert.match(drawn, /class="series-0 pale"/);
	assert.match(drawn, /<title>before, 2026-01-02: 2<\/title>/, 'each has its own day');
	assert.doesNotMatch(drawn, />2026-01-0\d<\/text>/, 'but no place of its own');
	assert.equal(
		drawn.match(/d="M[^"]+" fill="none" stroke="currentColor" stroke-width="2" stroke-dasharray/g)?.length,
		2,
		'one on screens, and one on telephones',
	);
	for (const name of ['now', 'before'])
		assert.match(drawn, new RegExp(`>${name}</text>`), 'names at the ends');
});

test('names at the ends of curves do not stand over each other', () => {
	const alike = Array.from({ length: 6 }, (_, number) => ({
		name: `channel ${number}`,
		points: [0, 1].map((x) => ({ x: String(x), y: 0.5 })),
	}));
	const drawings = `${curves(alike, { title: 'Left', isShare: true })}`.split('</svg>').slice(0, 2);
	for (const drawn of drawings) {
		const places = [...drawn.matchAll(/y="([\d.]+)">channel/g)]
			.map(([, y]) => Number(y))
			.sort((a, b) => a - b);
		assert.equal(places.length, 6);
		assert.ok(places.every((y, place) => place === 0 || y - (places[place - 1] as number) >= 15));
	}
});

test('a waterfall leads from one total to the next', () => {
	const drawn = `${waterfall(
		[
			{ name: 'opening', value: 100, isTotal: true },
			{ name: 'new', value: 50 },
			{ name: 'ended', value: -30, href: '/rows' },
			{ name: 'closing', value: 120, isTotal: true },
		],
		{ title: 'Recurring' },
	)}`;
	const bars = [...drawn.matchAll(/<rect class="([^"]+)" x="([\d.]+)"[^>]* width="([\d.]+)"/g)].map(
		([, look, x, width]) => ({ look, from: Number(x), to: Number(x) + Number(width) }),
	);
	const [opening, added, ended, closing] = bars as [
		(typeof bars)[number],
		(typeof bars)[number],
		(typeof bars)[number],
		(typeof bars)[number],
	];
	assert.deepEqual([opening.look, added.look, ended.look], ['bar', 'bar added', 'bar negative']);
	assert.ok(Math.abs(added.from - opening.to) < 0.2, 'new begins where the opening ends');
	assert.ok(Math.abs(ended.to - added.to) < 0.2, 'ended goes back from the end of what is new');
	assert.ok(Math.abs(closing.to - ended.from) < 0.2, 'the closing is what is left');
	assert.match(drawn, /<a href="\/rows"><text/);
});
