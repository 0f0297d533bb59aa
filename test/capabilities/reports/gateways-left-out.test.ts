import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { openStore } from '../../../src/assembly/open-store.ts';
import { countMatches } from '../../../src/capabilities/accounts/count.ts';
import { entrantsIn } from '../../../src/capabilities/experiments/reports/experiment-entries.ts';
import { planExperiment } from '../../../src/capabilities/experiments/reports/experiment-plan.ts';
import { type HistoryEvent, storeHistory } from '../../../src/capabilities/history/store/past-history.ts';
import { backtest, drawnVisitors } from '../../../src/capabilities/training/follow/backtest.ts';
import { backtestVerdict } from '../../../src/capabilities/training/pages/backtest-text.ts';
import { accountRows } from '../../../src/capabilities/training/rows/account-rows.ts';
import { ruleOutcomes } from '../../../src/capabilities/training/rule-outcomes.ts';
import { measureBaseRates } from '../../../src/capabilities/training/serve/base-rate.ts';
import { scoreDistribution } from '../../../src/capabilities/training/serve/score-bands.ts';
import { keepServedScores } from '../../../src/capabilities/training/store/served-scores.ts';
import type { HistoryHit } from '../../../src/core/domain/stored-hit.ts';
import { dayMs, hourMs, minuteMs } from '../../../src/core/durations.ts';
import { compileRule } from '../../../src/core/segments/rule.ts';
import { foldAll } from '../../../src/core/store/fold-all.ts';
import { historyReader } from '../../../src/kit/reading/histories.ts';
import { reportedAccount } from '../../../src/kit/reports/report-query.ts';
import { addAccount, type Engine, enginesAboveContract } from '../../core/store/engines.ts';
import { allReports } from '../../reports.ts';
import { report } from './filled.ts';
import { hit, readers, sales, scanners, sentMs, vidOf } from './made-up-mailing.ts';

const nowMs = sentMs + 20 * dayMs;
/** Somebody who keeps the log going. */
const regular = Array.from({ length: 20 }, (_, day) =>
	hit('f'.repeat(32), sentMs + day * dayMs + hourMs, { channel: 'direct', url: null }),
);

/** An account with readers of a mailing, in which scanners may have opened it, too. */
async function mailed(
	t: TestContext,
	engine: Engine,
	hits: readonly HistoryHit[],
	events: readonly HistoryEvent[] = sales,
) {
	const store = await openStore(await engine.installedAddress(t), { now: () => nowMs });
	t.after(() => store.close());
	const aid = 'c-a-acme-uk';
	const id = await addAccount(store, aid);
	await store.transact(id, () => storeHistory([...hits, ...regular], events));
	await foldAll(store, id);
	const account = await store.control.account(aid);
	const known = (await store.control.accessSnapshot()).accounts.get(aid);
	const [goal] = await store.control.goals(id);
	assert.ok(known && goal);
	return { store, id, account, known, goal };
}

type Mailed = Awaited<ReturnType<typeof mailed>>;
const byMail = compileRule('visitor.lastChannel == "email" || visitor.visits >= 1');

/** Everything that counts visitors and is no report: what it says, with or without mail gateways. */
const figures: Readonly<Record<string, (of: Mailed, include: 'gateways' | null) => Promise<unknown>>> = {
	'members of segments': ({ store, known }, include) => countMatches(store, known, byMail, { include }),
	'what became of segments': ({ store, known }, include) => ruleOutcomes(store, known, [byMail], include),
	'the distribution of scores': ({ store, known, goal }, include) =>
		scoreDistribution(store, known, goal.name, include),
	'rows of training': async ({ store, account, goal }, include) => {
		const reader = historyReader(store, account, include);
		const made = await accountRows(reader, { goals: [goal], asOfMs: nowMs, seed: 1, onProgress: () => {} });
		const rows = made.rows.map(({ scope, dataset }) => [scope, dataset.labels.length]);
		return { rows, visitors: made.history.visitors, hits: made.history.hits };
	},
	'visitors of back-tests': async ({ store, account }, include) =>
		(await drawnVisitors(historyReader(store, account, include), 1000, nowMs)).all,
};

/** Without how many are left out. */
function withoutCount(figure: unknown): unknown {
	if (typeof figure !== 'object' || figure === null) return figure;
	const { gatewayVisitors, ...others } = figure as Record<string, unknown>;
	return others;
}

test('reports that count visitors or visits take `include`, and no other', () => {
	const taking = allReports.filter(({ parameters }) => parameters.includes('include'));
	assert.deepEqual(
		taking.map(({ kind }) => kind),
		['activity', 'attribution', 'paths', 'funnel', 'hosts', 'spend', 'promises', 'lift'],
	);
});

for (const engine of enginesAboveContract)
	describe(engine.name, () => {
		for (const [what, figureOf] of Object.entries(figures))
			test(`${what} are as if no mail gateway had come, unless they are asked for`, async (t) => {
				const people = await figureOf(await mailed(t, engine, readers), null);
				const all = await mailed(t, engine, [...readers, ...scanners]);
				assert.deepEqual(withoutCount(await figureOf(all, null)), withoutCount(people));
				assert.notDeepEqual(withoutCount(await figureOf(all, 'gateways')), withoutCount(people));
			});

		test('it is said how many are left out', async (t) => {
			const { store, known, account, goal } = await mailed(t, engine, [...readers, ...scanners]);
			assert.equal((await countMatches(store, known, byMail)).gatewayVisitors, 400);
			assert.ok(!('gatewayVisitors' in (await countMatches(store, known, byMail, { include: 'gateways' }))));
			assert.equal((await ruleOutcomes(store, known, [byMail])).gatewayVisitors, 400);
			assert.equal((await scoreDistribution(store, known, goal.name)).gatewayVisitors, 400);
			const reader = historyReader(store, account);
			const of = { goals: [goal], asOfMs: nowMs, seed: 1, onProgress: () => {} };
			assert.equal((await accountRows(reader, of)).history.gatewayVisitors, 400);
			const options = { goal, cutsMs: [sentMs + 8 * dayMs], untilMs: sentMs + 9 * dayMs, seed: 1 };
			const tested = await backtest(reader, { ...options, at: 'cut', onProgress: () => {} });
			assert.equal(tested.gatewayVisitors, 400);
			assert.match(backtestVerdict(tested).join(' '), /400 visitors are left out who are mail gateways/);
		});

		test('the base rate is that of people', async (t) => {
			const rateOf = async ({ store, account, goal }: Mailed, include: 'gateways' | null = null) => {
				const reader = historyReader(store, account, include);
				return (await measureBaseRates(reader, [goal], sentMs + 9 * dayMs)).get(goal.name)?.byRecency ?? [];
			};
			const people = await rateOf(await mailed(t, engine, readers));
			const all = await mailed(t, engine, [...readers, ...scanners]);
			assert.deepEqual(await rateOf(all), people);
			assert.ok(((await rateOf(all, 'gateways'))[0] as number) < 0.8 * (people[0] as number));
		});

		test('scores that gateways were told are no promises', async (t) => {
			const { store, id } = await mailed(t, engine, [...readers, ...scanners]);
			const told = [...readers.filter((_, place) => place % 2 === 0), ...scanners].map(({ vid, atMs }) => ({
				vid,
				goal: 'subscription',
				atMs: atMs + 1000,
				band: 'low' as const,
				millionths: 100_000,
			}));
			await store.transact(id, () => keepServedScores(told));
			const asked = { asOf: nowMs, goal: 'subscription' };
			const rowOf = async (include: 'gateways' | null) => {
				const made = await report(store, id, 'promises', { ...asked, include });
				const row = made.rows.find(({ band }) => band === 'all') as { visitors: number; result: string };
				return { visitors: row.visitors, result: row.result, left: made.gatewayVisitors };
			};
			assert.deepEqual(await rowOf(null), { visitors: 40, result: 'not contradicted', left: 400 });
			assert.deepEqual(await rowOf('gateways'), { visitors: 440, result: 'fewer came', left: undefined });
		});

		test('experiments leave out who entered with gateways, in both groups, whether or not they went on', async (t) => {
			const goingOn = [3, 4, 5].map((number) =>
				hit(vidOf('b', number), sentMs + hourMs, { channel: 'internal', url: null }),
			);
			const all = await mailed(t, engine, [...readers, ...scanners, ...goingOn]);
			const { store, id, goal } = all;
			const account = reportedAccount(all.account);
			const rule = 'visitor.lastChannel == "email"';
			const entering = { rule, goal, period: { fromMs: sentMs - dayMs, toMs: nowMs }, asOfMs: nowMs };
			const people = await entrantsIn(store, account, entering);
			assert.deepEqual(
				people.entrants.map(({ person }) => person).sort(),
				[...new Set(readers.map(({ vid }) => vid))].sort(),
			);
			assert.equal(people.gateways.length, 400);
			const everybody = await entrantsIn(store, account, { ...entering, include: 'gateways' });
			assert.deepEqual([everybody.entrants.length, everybody.gateways.length], [440, 0]);

			const experiment = { segment: 'mailed', rule, goal: goal.name, holdoutPercent: 50 };
			const period = { fromMs: sentMs - dayMs, toMs: null };
			await store.control.createExperiment(id, { name: 'offer', ...experiment, ...period });
			const lift = async (include: 'gateways' | null) => {
				const made = await report(store, id, 'lift', { experiment: 'offer', asOf: nowMs, include });
				const { treated, holdout } = made.groups as Record<
					'treated' | 'holdout',
					{ visitors: number; conversions: number }
				>;
				return {
					visitors: treated.visitors + holdout.visitors,
					conversions: treated.conversions + holdout.conversions,
					left: made.gatewayVisitors,
					notes: String(made.notes),
				};
			};
			const { notes, ...left } = await lift(null);
			assert.deepEqual(left, { visitors: 40, conversions: 4, left: 400 });
			assert.match(notes, /in both groups: whether they go on may be what the experiment changes/);
			const { visitors, conversions } = await lift('gateways');
			assert.deepEqual([visitors, conversions], [440, 4]);

			const plan = (include: 'gateways' | null) =>
				planExperiment(store, account, { rule, goal, include }, sentMs + 14 * dayMs);
			const planned = await plan(null);
			assert.deepEqual([planned.conversionRate, planned.gatewayVisitors], [0.1, 400]);
			assert.ok((await plan('gateways')).conversionRate < 0.01);
		});

		test('who comes by several mailings of one moment is told apart by each', async (t) => {
			// Six a second, half by one mailing and half by another: no burst is dense beside its surroundings.
			const steady = Array.from({ length: 1200 }, (_, number) =>
				hit(vidOf('c', number), sentMs + number * 166, {
					url: `https://acme.example/?utm_medium=email&utm_campaign=${number % 2}`,
				}),
			);
			const { store, known } = await mailed(t, engine, [...steady, ...scanners]);
			assert.equal((await countMatches(store, known, byMail)).gatewayVisitors, 400);
		});

		test('a burst is found wherever it is in the parts of time that are looked at', async (t) => {
			for (const offsetMs of [0, 14_990, 29_999, -1]) {
				const beginMs = Math.ceil(sentMs / (30 * 1000)) * 30_000 + minuteMs + offsetMs;
				const few = scanners.slice(0, 31).map((one, number) => ({ ...one, atMs: beginMs + number * 900 }));
				const { store, known } = await mailed(t, engine, few, []);
				assert.equal((await countMatches(store, known, byMail)).gatewayVisitors, 31, `${offsetMs}`);
				await store.close();
			}
		});
	});
