import assert from 'node:assert/strict';
import { test } from 'node:test';
import { moneyOf } from '../../../src/core/format/money.ts';
import { curves } from '../../../src/kit/reports/report-curves.ts';

/** The number of the colour by the name at the end of each curve. */
function colours(names: readonly string[], isPale: (name: string) => boolean = () => false) {
	const all = names.map((name, place) => ({
		name,
		isPale: isPale(name),
		points: [
			{ x: '1', y: place },
			{ x: '2', y: place + 1 },
		],
	}));
	const [picture = ''] = String(curves(all, { title: 'Arrivals' })).split('<svg class="small');
	return Object.fromEntries(
		[...picture.matchAll(/class="leader series-(\d)"[^>]*><text[^>]*>([^<]+)/g)].map(([, colour, name]) => [
			name,
			Number(colour),
		]),
	);
}

test('whatever the order of curves, a channel has the same colour in every picture', () => {
	assert.deepEqual(colours(['social', 'email', 'direct']), { direct: 0, email: 1, social: 2 });
	assert.deepEqual(colours(['direct', 'social', 'email']), { direct: 0, email: 1, social: 2 });
});

test('an earlier time has the colour of the first curve, only paler', () => {
	assert.deepEqual(
		colours(['now', 'before'], (name) => name === 'before'),
		{ now: 0, before: 0 },
	);
});

test('an axis of money without any names no two marks alike', () => {
	const points = [
		{ x: '1', y: 0 },
		{ x: '2', y: 0 },
	];
	const picture = String(curves([{ name: '', points }], { title: 'Net', money: moneyOf('KWD') }));
	const [broad = ''] = picture.split('<svg class="small');
	const marks = [...broad.matchAll(/text-anchor="end">([^<]+)</g)].map(([, text]) => text);
	assert.equal(new Set(marks).size, marks.length, String(marks));
});
