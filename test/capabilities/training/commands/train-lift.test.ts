import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { openStore } from '../../../../src/assembly/open-store.ts';
import { drawOf } from '../../../../src/capabilities/experiments/domain/draw.ts';
import { storeHistory } from '../../../../src/capabilities/history/store/past-history.ts';
import type { HistoryHit } from '../../../../src/core/domain/stored-hit.ts';
import { dayMs, hourMs } from '../../../../src/core/durations.ts';
import { foldAll } from '../../../../src/core/store/fold-all.ts';
import { seededRandom } from '../../../../src/kit/random.ts';
import { addAccount } from '../../../core/store/engines.ts';
import { body } from '../../../core/store/made-hits.ts';
import { assertMisused, assertRefused, caskade, caskadeJson } from '../../../process.ts';
import { takesLong } from '../../../quick.ts';
import { temporaryFolder } from '../../../support.ts';

const aid = 'c-a-acme-uk';
const fromMs = Date.UTC(2026, 8, 1);
const toMs = fromMs + 30 * dayMs;
const rule = 'visitor.pages >= 1';
const visitors = 2400;

/**
 * An account with an experiment that has ended. Whoever came by email and was treated signs up half of the time, others one
 * time in six.
 */
async function withExperiment(t: TestContext) {
	const address = `sqlite:${temporaryFolder(t)}`;
	const store = await openStore(address);
	t.after(() => store.close());
	const id = await addAccount(store, aid);
	await store.control.createGoal(id, {
		name: 'signup',
		evts: ['signup'],
		horizonDays: 7,
		counts: 'acquisition',
		mediumFrom: 50,
		highFrom: 90,
	});
	const about = { segment: 'high-intent', rule, goal: 'signup', holdoutPercent: 50 };
	const experiment = await store.control.createExperiment(id, { ...about, name: 'offer', fromMs, toMs });
	const random = seededRandom(4);
	const hits: HistoryHit[] = [];
	const emails = new Set<string>();
	for (let number = 1; number <= visitors; number++) {
		const vid = number.toString(16).padStart(32, '0');
		const channel = random() < 0.5 ? 'email' : 'direct';
		if (channel === 'email') emails.add(vid);
		const atMs = fromMs + Math.floor(random() * 29 * dayMs);
		hits.push({ vid, sid: null, atMs, body: body({ channel, page: 'plans' }) });
		const isPersuaded = channel === 'email' && drawOf(experiment, vid).group === 'treated';
		if (random() < (isPersuaded ? 0.5 : 1 / 6))
			hits.push({
				vid,
				sid: null,
				atMs: atMs + hourMs,
				body: body({ channel, events: [{ name: 'signup' }] }),
			});
	}
	// The log goes on.
	hits.push({ vid: 'f'.repeat(32), sid: null, atMs: toMs + 20 * dayMs, body: body({}) });
	for (let from = 0; from < hits.length; from += 500)
		await store.transact(id, () => storeHistory(hits.slice(from, from + 500), []));
	await foldAll(store, id);
	return { at: ['--database', address], store, id, emails, about };
}

test('train --lift learns from an experiment, and scores then carry lift', { skip: takesLong }, async (t) => {
	const { at, emails, store, id, about } = await withExperiment(t);
	const train = await caskade(['train', aid, '--lift', 'offer', '--verbose', ...at]);
	assert.equal(train.code, 0, train.stderr);
	for (const words of [
		/^Lift of goal signup, from experiment offer\nOf the treated [\d.]+ % reached it, of those held out [\d.]+ %: a difference of [\d.]+ points\.\nOn visitors kept out of training, the model's ranking has a Qini coefficient of 0\.\d{3} \(0\.\d{3} to 0\.\d{3}\)\.\nVersion [-\d]+\.1 is now in use\.\n/,
		/treated +\d+ of 1,\d{3} visitors\nheld out +\d+ of 1,\d{3} visitors\nnot known yet +0 visitors\n/,
		/Qini, two models +0\..*\nQini, transformed outcome +0\./,
		/\nfifth by lift +predicted, points +observed, points +treated +held out\n +highest +|\nfifth by lift.*\nhighest +/,
	])
		assert.match(train.stdout, words);
	const [model] = (await caskadeJson(['model', 'list', aid, '--goal', 'signup', ...at])) as {
		version: string;
	}[];
	assert.deepEqual(
		[model && { ...model, createdAt: '' }],
		[
			{
				goal: 'signup',
				scope: 'lift',
				version: model?.version,
				active: true,
				createdAt: '',
				kind: 'lift',
				auc: null,
				logLoss: null,
				baseRateLogLoss: null,
			},
		],
	);
	const version = model?.version as string;
	const shown = await caskade(['model', 'show', aid, 'signup', version, '--scope', 'lift', ...at]);
	assert.match(shown.stdout, /experiment +offer\n/);

	const scored = async () => {
		const { stdout, stderr } = await caskade(['score', aid, '--goal', 'signup', ...at, '--json']);
		assert.match(stderr, /^The log ended \d+ days ago, at 2026-10-21T00:00:00\.000Z: [^\n]+\n$/);
		return JSON.parse(stdout) as { vid: string; lift: number }[];
	};
	const scores = await scored();
	const meanOf = (isEmail: boolean) => {
		const lifts = scores.filter(({ vid }) => emails.has(vid) === isEmail).map(({ lift }) => lift);
		return lifts.reduce((sum, lift) => sum + lift, 0) / lifts.length;
	};
	assert.ok(meanOf(true) > meanOf(false) + 0.1, `${meanOf(true)} ${meanOf(false)}`);
	const csv = await caskade(['score', aid, '--goal', 'signup', '--format', 'csv', ...at]);
	assert.match(
		csv.stdout,
		/^vid,goal,score,percentile,band,model,lift\n\w+,signup,[\d.]+,\d+,\w+,prior,-?[\d.]+\n/,
	);
	const count = ['segment', 'test', aid, '--rule', 'lift("signup") > 0.15', ...at];
	const { matching } = (await caskadeJson(count)) as { matching: number };
	assert.equal(matching, scores.filter(({ lift }) => lift > 0.15).length);
	assert.ok(matching > emails.size / 2 && matching < 0.75 * visitors, `${matching}`);

	await caskadeJson(['model', 'use', aid, 'signup', 'prior', '--scope', 'lift', ...at]);
	const [without] = await scored();
	assert.ok(without && !('lift' in without));
	assert.equal(((await caskadeJson(count)) as { matching: number }).matching, 0);

	// A goal that almost nobody has reached, an experiment that goes on, and one that does not exist.
	await store.control.createExperiment(id, {
		...about,
		segment: 'new',
		name: 'next',
		fromMs: toMs,
		toMs: null,
	});
	assertRefused(
		await caskade(['train', aid, '--lift', 'offer', '--goal', 'subscription', ...at]),
		/^caskade: A model of lift needs 500 visitors who have reached the goal, of both groups\. In experiment offer, 0 have reached subscription: 0 of 1,\d{3} treated and 0 of 1,\d{3} held out\.$/m,
	);
	assertRefused(
		await caskade(['train', aid, '--lift', 'next', ...at]),
		/The experiment next has not ended; 'caskade experiment stop c-a-acme-uk next' ends it\./,
	);
	assertRefused(await caskade(['train', aid, '--lift', 'none', ...at]), /has no experiment none/);
	assertMisused(
		await caskade(['train', aid, '--lift', 'offer', '--as-of', '2026-10-01', ...at]),
		/--lift <experiment>.* cannot be used with .*--as-of/,
	);
});
