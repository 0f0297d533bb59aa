import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { openStore } from '../../../../src/assembly/open-store.ts';
import { choiceSentences } from '../../../../src/capabilities/training/pages/report-text.ts';
import { assertMisused, assertRefused, caskade, caskadeJson } from '../../../process.ts';
import { temporaryFolder } from '../../../support.ts';
import { trainedOnVisitors } from '../made-up-profiles.ts';

const aid = 'c-a-x';

/** An account with two models of `subscription` for visitors and one for visits, none of them active. */
async function withModels(t: TestContext) {
	const address = `sqlite:${temporaryFolder(t)}`;
	const at = ['--database', address];
	await caskade(['account', 'create', aid, '--client', 'x', ...at]);
	const store = await openStore(address);
	t.after(() => store.close());
	const { id } = await store.control.account(aid);
	const insert = async (kind: 'logistic' | 'boosting', scope: 'vid' | 'sid') => {
		const { model, report } = trainedOnVisitors(kind);
		const texts = { body: JSON.stringify(model), report: JSON.stringify(report) };
		return (await store.control.insertModel(id, { goal: 'subscription', scope, ...texts })).version;
	};
	const [first, second] = [await insert('logistic', 'vid'), await insert('boosting', 'vid')];
	return { at, store, id, first, second, ofVisits: await insert('logistic', 'sid') };
}

test('model list compares versions by their results on later rows', async (t) => {
	const { at, first, second } = await withModels(t);
	const models = (await caskadeJson(['model', 'list', aid, ...at])) as Record<string, unknown>[];
	const later = trainedOnVisitors('logistic').report.later;
	const { createdAt, ...logistic } = models[0] as Record<string, unknown>;
	assert.deepEqual(logistic, {
		goal: 'subscription',
		scope: 'vid',
		version: first,
		active: false,
		kind: 'logistic',
		auc: later?.auc.value,
		logLoss: later?.logLoss,
		baseRateLogLoss: later?.baseRateLogLoss,
	});
	assert.match(String(createdAt), /^\d{4}-\d{2}-\d{2}T/);
	assert.deepEqual(
		models.map(({ kind, scope }) => [kind, scope]),
		[
			['logistic', 'vid'],
			['boosting', 'vid'],
			['logistic', 'sid'],
		],
	);
	const { stdout } = await caskade(['model', 'list', aid, '--goal', 'subscription', ...at]);
	assert.match(stdout, /^goal +scope +version +createdAt +kind +active +auc +logLoss +baseRateLogLoss\n/);
	assert.match(
		stdout,
		new RegExp(`\\nsubscription +vid +${second} +\\S+ +boosting +no +0\\.\\d{3} +0\\.\\d{4} `),
	);
	assert.match((await caskade(['model', 'list', aid, '--goal', 'return', ...at])).stdout, /^No models\. /);
	assertRefused(await caskade(['model', 'list', aid, '--goal', 'x', ...at]), /has no goal x/);
});

test('model show prints the report in words, or as JSON', async (t) => {
	const { at, first, ofVisits } = await withModels(t);
	const { report } = trainedOnVisitors('logistic');
	const shown = (await caskadeJson(['model', 'show', aid, 'subscription', first, ...at])) as object;
	assert.deepEqual(
		{ ...shown, createdAt: '' },
		{
			aid,
			goal: 'subscription',
			scope: 'vid',
			version: first,
			active: false,
			createdAt: '',
			levels: null,
			report: JSON.parse(JSON.stringify(report)),
		},
	);
	const { stdout } = await caskade(['model', 'show', aid, 'subscription', first, ...at]);
	for (const words of [
		/^model +logistic$/m,
		/^AUC of all rows +0\.\d{3} \(0\.\d{3} to /m,
		/^days since page pricing /m,
	])
		assert.match(stdout, words);
	for (const sentence of choiceSentences(report)) assert.ok(stdout.includes(sentence), sentence);
	const ofVisit = await caskade(['model', 'show', aid, 'subscription', ofVisits, '--scope', 'sid', ...at]);
	assert.match(ofVisit.stdout, /^scope +sid$/m);
	assertRefused(
		await caskade(['model', 'show', aid, 'subscription', '1999-01-01.1', ...at]),
		/no model 1999-01-01\.1/,
	);
});

test('model use activates a version, goes back to an earlier one, or to none', async (t) => {
	const { at, store, first, second, ofVisits } = await withModels(t);
	const active = async () => (await store.control.accessSnapshot()).accounts.get(aid)?.models;
	const use = (version: string, ...more: string[]) =>
		caskadeJson(['model', 'use', aid, 'subscription', version, ...more, ...at]);
	const ofVisitors = { goal: 'subscription', scope: 'vid' };
	assert.deepEqual(await use(second), { aid, ...ofVisitors, version: second });
	assert.deepEqual(await active(), [{ ...ofVisitors, version: second }]);
	await use(first);
	await use(ofVisits, '--scope', 'sid');
	assert.deepEqual(await active(), [
		{ ...ofVisitors, scope: 'sid', version: ofVisits },
		{ ...ofVisitors, version: first },
	]);
	await use('prior');
	assert.deepEqual(await active(), [{ ...ofVisitors, scope: 'sid', version: ofVisits }]);
	assert.match((await caskade(['model', 'use', aid, 'subscription', first, ...at])).stdout, /^version +2/m);
});

test('model use refuses a model that cannot score, and changes nothing', async (t) => {
	const { at, store, id, first } = await withModels(t);
	const use = (...args: string[]) => caskade(['model', 'use', aid, ...args, ...at]);
	await use('subscription', first);
	const broken = { goal: 'subscription', scope: 'vid', body: '{"format":99}', report: '{}' } as const;
	const { version } = await store.control.insertModel(id, broken);
	assertRefused(await use('subscription', version), /cannot be applied: its format is 99, not 4/);
	const { model, report } = trainedOnVisitors('logistic');
	const refused = await store.control.insertModel(id, {
		goal: 'subscription',
		scope: 'vid',
		body: JSON.stringify({ ...model, kind: 'prior' }),
		report: JSON.stringify({ ...report, kind: 'prior' }),
	});
	assertRefused(await use('subscription', refused.version), /nothing better than the base rate/);
	assertRefused(await use('subscription', '1'), /no model 1 of goal subscription/);
	assertRefused(await use('nothing', 'prior'), /has no goal nothing/);
	assertMisused(await use('subscription', first, '--scope', 'aid'), /Allowed choices are vid, sid/);
	const models = await store.control.models(id);
	assert.deepEqual(
		models.filter(({ active }) => active).map((model) => model.version),
		[first],
	);
	// A report of another program does not keep the others from being listed.
	assert.match(
		(await caskade(['model', 'list', aid, ...at])).stdout,
		new RegExp(`${version} +\\S+ +- +no +- `),
	);
});

test('active models that this version cannot apply are named, with the command that mends it', async (t) => {
	const { at, store, id, first } = await withModels(t);
	const told =
		/subscription \(vid\): model \S+ cannot be applied: its format is 1, not \d+\. 'caskade train c-a-x' makes new ones/;
	for (const command of [['doctor'], ['migrate'], ['model', 'list', aid]])
		assert.doesNotMatch((await caskade([...command, ...at])).stdout, told);
	const { model, report } = trainedOnVisitors('logistic');
	const old = { body: JSON.stringify({ ...model, format: 1 }), report: JSON.stringify(report) };
	await store.control.insertModel(id, { goal: 'subscription', scope: 'vid', ...old }, 'activate it');
	for (const command of [['doctor'], ['migrate'], ['model', 'list', aid]])
		assert.match((await caskade([...command, ...at])).stdout, told, command.join(' '));
	assert.match((await caskade(['status', ...at])).stdout, /^modelsUnusable +1 \(run 'caskade train AID'/m);
	assert.equal(JSON.parse((await caskade(['status', '--json', ...at])).stdout).modelsUnusable, 1);
	await caskade(['model', 'use', aid, 'subscription', first, ...at]);
	assert.doesNotMatch((await caskade(['doctor', ...at])).stdout, told);
});
