import assert from 'node:assert/strict';
import { test } from 'node:test';
import { standardPlan } from '../../../../src/core/domain/usage-plan.ts';
import { assertMisused, assertRefused, caskade, caskadeJson, emptyInstallation } from '../../../process.ts';
import { temporaryFolder } from '../../../support.ts';

test('the plan standard always exists, with the limits of the specification', async (t) => {
	const at = await emptyInstallation(t);
	assert.deepEqual(await caskadeJson(['plan', 'list', ...at]), [
		{
			name: 'standard',
			ratePerSecond: 10,
			burst: 1,
			quotaPerMonth: 1_000_000,
			timeoutMs: 5000,
			maxEvents: 30,
		},
	]);
	assert.match(
		(await caskade(['plan', 'list', ...at])).stdout,
		/^name +ratePerSecond .*\nstandard +10 +1 +1000000/,
	);
});

test('plan create: limits that are left out are those of standard', async (t) => {
	const at = ['--database', `sqlite:${temporaryFolder(t)}`];
	const flags = [
		'--rate',
		'0.5',
		'--burst',
		'3',
		'--quota',
		'7',
		'--timeout-ms',
		'900',
		'--max-events',
		'100',
	];
	const large = {
		name: 'large',
		ratePerSecond: 0.5,
		burst: 3,
		quotaPerMonth: 7,
		timeoutMs: 900,
		maxEvents: 100,
	};
	assert.deepEqual(await caskadeJson(['plan', 'create', 'large', ...flags, ...at]), large);
	const slow = { ...standardPlan, name: 'slow', timeoutMs: 20_000 };
	assert.deepEqual(await caskadeJson(['plan', 'create', 'slow', '--timeout-ms', '20000', ...at]), slow);
	assert.deepEqual(await caskadeJson(['plan', 'list', ...at]), [large, slow, standardPlan]);
	assertRefused(
		await caskade(['plan', 'create', 'large', ...at]),
		/Plan large exists already; 'caskade plan update'/,
	);
});

test('plan update: limits that are left out keep their value', async (t) => {
	const at = ['--database', `sqlite:${temporaryFolder(t)}`];
	await caskade(['plan', 'create', 'mine', '--burst', '3', ...at]);
	const updated = { ...standardPlan, name: 'mine', burst: 3, quotaPerMonth: 0 };
	assert.deepEqual(await caskadeJson(['plan', 'update', 'mine', '--quota', '0', ...at]), updated);
	assertRefused(
		await caskade(['plan', 'update', 'mine', ...at]),
		/nothing to change: set --rate, --burst, --quota, --timeout-ms or --max-events\.$/m,
	);
	assertRefused(await caskade(['plan', 'update', 'none', '--quota', '1', ...at]), /There is no plan none/);
});

test('an invalid limit is refused', async (t) => {
	const at = await emptyInstallation(t);
	const wrong = [
		['--rate', '0'],
		['--rate', 'fast'],
		['--rate', '-1'],
		['--burst', '0'],
		['--burst', '1.5'],
		['--quota', '1e6'],
		['--timeout-ms', '0'],
		['--max-events', ''],
	];
	const created = wrong.map((flags) => caskade(['plan', 'create', 'wrong', ...flags, ...at]));
	for (const ended of await Promise.all(created)) assertMisused(ended, /must be a (whole )?number/);
	assert.equal(((await caskadeJson(['plan', 'list', ...at])) as unknown[]).length, 1);
});
