import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openStore } from '../../../../src/assembly/open-store.ts';
import { addAccount } from '../../../core/store/engines.ts';
import { assertMisused, assertRefused, caskade, caskadeJson } from '../../../process.ts';
import { temporaryFolder } from '../../../support.ts';
import { madeUpVisitors, storeVisitors } from '../made-up-log.ts';

async function withHistory(t: TestContext, visitors: number) {
	const folder = temporaryFolder(t);
	const address = `sqlite:${join(folder, 'data')}`;
	const store = await openStore(address);
	t.after(() => store.close());
	const accountId = await addAccount(store, 'c-a-acme-uk');
	await storeVisitors(store, accountId, madeUpVisitors(visitors));
	const models = () => store.control.models(accountId);
	return { folder, at: ['--database', address], models };
}

interface Report {
	readonly aid: string;
	readonly goal: string;
	readonly cuts: readonly Measured[];
	readonly pooled: Measured;
}

interface Measured {
	readonly rows: number;
	readonly logLoss: number;
}

test('a goal is judged at moments of the past, beside the base rate, in text, as JSON and drawn', async (t) => {
	const { folder, at, models } = await withHistory(t, 60);
	const file = join(folder, 'backtest.html');
	const command = ['backtest', 'c-a-acme-uk', '--goal', 'return', '--cuts', '1', ...at];
	const { code, stdout, stderr } = await caskade([...command, '--html', file]);
	assert.equal(code, 0, stderr);
	assert.match(stderr, /back-testing c-a-acme-uk/);
	for (const words of [
		/log loss/i,
		/\nThe scores are (not shown to be )?(better|worse) than the base rate: /,
		/The charts are in .*backtest\.html\.\n$/,
	])
		assert.match(stdout, words);
	assert.match(readFileSync(file, 'utf8'), /^<!doctype html>.*<svg/is);
	const report = (await caskadeJson(command)) as Report;
	assert.deepEqual([report.aid, report.goal, report.cuts.length], ['c-a-acme-uk', 'return', 1]);
	assert.deepEqual(await models(), [], 'nothing is stored');
});

test('what cannot be back-tested is refused', async (t) => {
	const { at } = await withHistory(t, 0);
	const backtest = (...args: string[]) => caskade(['backtest', ...args, ...at]);
	assertRefused(await backtest('c-a-nobody', '--goal', 'return'), /There is no account c-a-nobody/);
	assertRefused(await backtest('c-a-acme-uk', '--goal', 'x'), /has no goal x/);
	assertMisused(await backtest('c-a-acme-uk'), /--goal <name> is missing/);
	assertMisused(
		await backtest('c-a-acme-uk', '--goal', 'return', '--cuts', '51'),
		/whole number from 1 to 50/,
	);
	assertRefused(await backtest('c-a-acme-uk', '--goal', 'return'), /history/);
});
