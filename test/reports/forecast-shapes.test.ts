import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judge, shapes, toldBy } from './forecast-shapes.ts';

test('forecasts of simulated businesses are nearer to what comes than simple ones, whatever their shape', () => {
	const some = ['flat monthly', 'growing', 'campaign over', 'three weeks old', 'Christmas'];
	const judged = judge(1, toldBy, { of: shapes.filter(({ name }) => some.includes(name)) });
	const mean = (of: 'error' | 'byLast' | 'byDues' | 'presentError' | 'presentByDues') =>
		judged.reduce((sum, one) => sum + one[of], 0) / judged.length;
	assert.ok(mean('error') < Math.min(mean('byLast'), mean('byDues')), JSON.stringify(judged));
	assert.ok(mean('presentError') < 0.06, JSON.stringify(judged));
	const young = judged.find(({ shape }) => shape === 'three weeks old');
	assert.equal(young?.presentInBounds, 1);
});
