import assert from 'node:assert/strict';
import { test } from 'node:test';
import { takesLong } from '../../quick.ts';
import { judge, madeOf, shapes, shortcomingsOf, toldBy } from './forecast-shapes.ts';

test('forecasts of simulated businesses are nearer to what comes than simple ones, whatever their shape', {
	skip: takesLong,
}, () => {
	const some = ['growing', 'three weeks old', 'flat monthly', 'campaign over', 'Christmas'];
	const of = shapes.filter(({ name }) => some.includes(name));
	const judged = judge(madeOf(1, toldBy, of));
	const mean = (name: 'error' | 'byLast' | 'byDues' | 'presentError' | 'presentByDues') =>
		judged.reduce((sum, one) => sum + one[name], 0) / judged.length;
	assert.ok(mean('error') < Math.min(mean('byLast'), mean('byDues')), JSON.stringify(judged));
	assert.ok(mean('presentError') < 0.06, JSON.stringify(judged));
	const young = judged.find(({ shape }) => shape === 'three weeks old');
	assert.equal(young?.presentInBounds, 1);
	assert.deepEqual(shortcomingsOf(judged), []);
});

test('a shape is found whose bounds hold too little or too much, or which a simple method is nearer to', () => {
	const amounts = { net: 1000, present: 0 };
	const one = {
		shape: 'flat',
		days: 30,
		told: { ...amounts, low: 900, high: 1100, presentLow: 0, presentHigh: 0 },
		came: { ...amounts, net: 1001 },
		last: 1200,
		dues: { ...amounts, net: 1200 },
	};
	const missed = { ...one, came: { ...amounts, net: 1101 } };
	const made = (inside: number, outside: number) =>
		judge([...Array.from({ length: inside }, () => one), ...Array.from({ length: outside }, () => missed)]);
	assert.deepEqual(shortcomingsOf(made(80, 20)), []);
	// Two thirds of these may be chance, of ten times as many they are not.
	assert.deepEqual(shortcomingsOf(made(20, 10)), []);
	assert.deepEqual(shortcomingsOf(made(200, 100)), ['flat, 30 days: 200 of 300 in the bounds of 80 %']);
	assert.deepEqual(shortcomingsOf(made(100, 0)), ['flat, 30 days: 100 of 100 in the bounds of 80 %']);
	const simple = [...Array.from({ length: 80 }, () => one), ...Array.from({ length: 20 }, () => missed)];
	assert.deepEqual(shortcomingsOf(judge(simple.map((each) => ({ ...each, last: each.came.net })))), [
		'flat, 30 days: as much as the last period is nearer',
	]);
	assert.deepEqual(shortcomingsOf(judge(simple.map((each) => ({ ...each, dues: each.came })))), [
		'flat, 30 days: due dates × rates so far are nearer',
	]);
});
