import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { goalDefaults } from '../../../../src/core/domain/goal.ts';
import { assertMisused, assertRefused, caskade, caskadeJson } from '../../../process.ts';
import { temporaryFolder } from '../../../support.ts';

async function withAccount(t: TestContext): Promise<string[]> {
	const at = ['--database', `sqlite:${temporaryFolder(t)}`];
	await caskade(['account', 'create', 'c-a-x', '--client', 'x', ...at]);
	return at;
}

const beginning = [
	{ name: 'subscription', evts: ['*'], ...goalDefaults },
	{ name: 'return', evts: ['visit'], ...goalDefaults },
	{ name: 'renewal', evts: ['*'], ...goalDefaults, counts: 'renewal', horizonDays: 31 },
];

test('an account starts with three goals; others can be added and deleted', async (t) => {
	const at = await withAccount(t);
	assert.deepEqual(await caskadeJson(['goal', 'list', 'c-a-x', ...at]), beginning);
	const trial = { name: 'trial', evts: ['trial', 'Probe'], ...goalDefaults };
	assert.deepEqual(
		await caskadeJson(['goal', 'create', 'c-a-x', 'trial', '--evt', 'trial', 'Probe', 'trial', ...at]),
		trial,
	);
	const flags = ['--evt', '*', '--counts', 'refund', '--horizon-days', '0.5', '--bands', '40,99.5'];
	const soon = {
		name: 'soon',
		evts: ['*'],
		counts: 'refund',
		horizonDays: 0.5,
		mediumFrom: 40,
		highFrom: 99.5,
	};
	assert.deepEqual(await caskadeJson(['goal', 'create', 'c-a-x', 'soon', ...flags, ...at]), soon);
	assert.deepEqual(await caskadeJson(['goal', 'list', 'c-a-x', ...at]), [...beginning, trial, soon]);
	assertRefused(await caskade(['goal', 'create', 'c-a-x', 'soon', ...flags, ...at]), /a goal soon already/);
	assert.deepEqual(await caskadeJson(['goal', 'delete', 'c-a-x', 'trial', ...at]), { deleted: 'trial' });
	assertRefused(await caskade(['goal', 'delete', 'c-a-x', 'trial', ...at]), /has no goal trial/);
	assert.deepEqual(await caskadeJson(['goal', 'list', 'c-a-x', ...at]), [...beginning, soon]);
	assert.match(
		(await caskade(['goal', 'list', 'c-a-x', ...at])).stdout,
		/^name .*\n.*\n.*\n.*\nsoon +\* +refund +0\.5 +40 /,
	);
});

test('an invalid goal is refused', async (t) => {
	const at = await withAccount(t);
	const create = (...args: string[]) => caskade(['goal', 'create', ...args, ...at]);
	assertMisused(await create('c-a-x', 'g'), /--evt <names\.\.\.> is missing/);
	for (const bands of ['90,50', '50', '50,50', '50,100', 'low,high', '-1,5'])
		assertMisused(await create('c-a-x', 'g', '--evt', 'e', `--bands=${bands}`), /must be two percentiles/);
	assertMisused(
		await create('c-a-x', 'g', '--evt', 'e', '--counts=sale'),
		/acquisition, first-payment, trial, renewal, refund, any/,
	);
	for (const days of ['0', '-1', '366', 'week'])
		assertMisused(await create('c-a-x', 'g', '--evt', 'e', `--horizon-days=${days}`), /must be a number/);
	assertMisused(await create('c-a-x', 'g', '--evt', 'a\tb'), /must be 1 to 255 characters/);
	assertMisused(await create('c-a-x', 'a b', '--evt', 'e'), /must be 1 to 64/);
	assertRefused(await create('c-a-y', 'g', '--evt', 'e'), /There is no account c-a-y/);
	assert.deepEqual(await caskadeJson(['goal', 'list', 'c-a-x', ...at]), beginning);
});

test('the bands of a goal and what it counts can be changed, nothing else can', async (t) => {
	const at = await withAccount(t);
	const update = (...args: string[]) => caskade(['goal', 'update', 'c-a-x', ...args, ...at]);
	assert.deepEqual(await caskadeJson(['goal', 'update', 'c-a-x', 'return', '--bands', '60,95.5', ...at]), {
		...beginning.find(({ name }) => name === 'return'),
		mediumFrom: 60,
		highFrom: 95.5,
	});
	assert.match(
		(await update('return', '--bands', '5,7')).stdout,
		/^name +return\n.*\n.*\n.*\nmediumFrom +5\n/,
	);
	const listed = (await caskadeJson(['goal', 'list', 'c-a-x', ...at])) as { mediumFrom: number }[];
	assert.deepEqual(
		listed.map(({ mediumFrom }) => mediumFrom),
		[50, 5, 50],
	);
	assert.match(
		(await update('subscription', '--counts', 'any')).stdout,
		/\ncounts +any\n(?:.*\n)*It has no model now; 'caskade train c-a-x --goal subscription' trains one\.\n$/,
	);
	assertRefused(await update('nothing', '--bands', '5,7'), /has no goal nothing/);
	assertRefused(await update('return'), /There is nothing to change: set --bands or --counts\./);
	assertMisused(await update('return', '--bands', '7,5'), /must be two percentiles/);
});
