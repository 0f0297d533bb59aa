import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
	runScheduledTraining,
	trainDue,
} from '../../../../src/capabilities/training/jobs/scheduled-training.ts';
import {
	type AccountTraining,
	trainAccount,
} from '../../../../src/capabilities/training/judge/account-training.ts';
import { train } from '../../../../src/capabilities/training/judge/train.ts';
import type { TrainingReport } from '../../../../src/capabilities/training/judge/training-report.ts';
import { useOf } from '../../../../src/capabilities/training/pages/report-text.ts';
import type { Goal } from '../../../../src/core/domain/goal.ts';
import { goalDefaults } from '../../../../src/core/domain/goal.ts';
import { dayMs, hourMs } from '../../../../src/core/durations.ts';
import type { OpenStore } from '../../../../src/core/store/store.ts';
import { addAccount, type Engine, engines, openFor } from '../../../core/store/engines.ts';
import { eventually } from '../../../eventually.ts';
import { takesLong } from '../../../quick.ts';
import { collectWork } from '../../../support.ts';
import { logEndMs, madeUpVisitors, storeVisitors } from '../made-up-log.ts';

const [sqlite] = engines as [Engine];

const comesBack: Goal = { name: 'return', evts: ['visit'], ...goalDefaults };
const never: Goal = { name: 'never', evts: ['nothing'], ...goalDefaults };

const unset = { renewalDays: {}, graceDays: {}, cancellationEvt: null, paymentProviders: [] };

async function place(t: TestContext, engine = sqlite, count = 45) {
	const store = await openFor(t, await engine.installedAddress(t));
	const id = await addAccount(store, 'c-a-acme-uk');
	await storeVisitors(store, id, madeUpVisitors(count));
	return { store, account: { id, aid: 'c-a-acme-uk', ...unset } };
}

function trainAt(
	store: OpenStore,
	account: AccountTraining['account'],
	{ goals = [comesBack], asOfMs = logEndMs, seed = 1, keepsChoice = false, trainOn = train } = {},
) {
	const about = { account, goals, asOfMs, isOfNow: true, seed, keepsChoice, onProgress: () => {} };
	return trainAccount(store, about, trainOn);
}

const trained = new Map<number, ReturnType<typeof train>>();

/** Trains once on rows that are trained on again and again: they are the same for as many. */
const trainOnce: typeof train = (dataset, options) => {
	const known = trained.get(dataset.rows) ?? train(dataset, options);
	trained.set(dataset.rows, known);
	return known;
};

async function activeOf(store: OpenStore, accountId: number): Promise<string[]> {
	const models = await store.control.models(accountId);
	return models
		.filter(({ active }) => active)
		.map(({ goal, scope, version }) => `${goal} ${scope} ${version}`);
}

test('the same history gives the same model on every engine, and later data changes nothing', {
	skip: takesLong,
}, async (t) => {
	const trained = [];
	for (const engine of engines) {
		const { store, account } = await place(t, engine);
		if (trained.length > 0) {
			const later = madeUpVisitors(50, 9).map((visitor) => ({
				...visitor,
				hits: visitor.hits.map((hit) => ({ ...hit, atMs: logEndMs })),
				events: visitor.events.map((event) => ({ ...event, receivedAtMs: logEndMs })),
			}));
			await storeVisitors(store, account.id, later);
		}
		const [ofVisitors] = await trainAt(store, account, { asOfMs: logEndMs - 5 * dayMs });
		assert.ok(ofVisitors?.version);
		assert.equal(ofVisitors.report.asOf, new Date(logEndMs - 5 * dayMs).toISOString());
		const model = { goal: 'return', scope: 'vid', version: ofVisitors.version } as const;
		trained.push({ body: await store.control.modelBody(account.id, model), report: ofVisitors.report });
	}
	assert.deepEqual(trained[1], trained[0]);
});

test('a model better than the base rate is active until a newer one replaces it; one that has seen less does not', async (t) => {
	const { store, account } = await place(t, sqlite, 300);
	const trainOn = trainOnce;
	const [first] = await trainAt(store, account, { trainOn });
	assert.equal(first?.active, true);
	assert.ok((await activeOf(store, account.id)).includes(`return vid ${first?.version}`));
	const [second] = await trainAt(store, account, { seed: 2, trainOn });
	assert.equal(second?.former?.version, first?.version);
	assert.deepEqual(second?.former?.auc, first?.report.later?.auc);
	assert.equal(second?.outcome, 'active');
	const stored = await store.control.modelReport(account.id, {
		goal: 'return',
		scope: 'vid',
		version: String(second?.version),
	});
	assert.deepEqual(JSON.parse(stored), JSON.parse(JSON.stringify(second?.report)));
	const [earlier] = await trainAt(store, account, { asOfMs: logEndMs - 5 * dayMs });
	assert.equal(earlier?.active, false);
	assert.equal(earlier?.outcome, 'knows less');
	assert.ok((await activeOf(store, account.id)).includes(`return vid ${second?.version}`));
});

/** Trains as usual, with something else in the report. */
const reporting =
	(instead: Pick<TrainingReport, 'leaks'> | Pick<TrainingReport, 'overlaps'>): typeof train =>
	(dataset, options) => {
		const { model, report } = trainOnce(dataset, options);
		return { model, report: { ...report, ...instead } };
	};

test('a model with a likely leak waits for an operator, and its successors with the same leak do not', {
	skip: takesLong,
}, async (t) => {
	const { store, account } = await place(t, sqlite, 300);
	const leaking = reporting({
		leaks: [
			{ feature: 'lastPage', text: 'thanks', why: 'only converters', visitors: 40 },
			{ feature: 'page:thanks', why: 'only converters', visitors: 60 },
		],
	});
	const [first] = await trainAt(store, account, { trainOn: trainOnce });
	for (const keepsChoice of [false, true]) {
		const [waiting] = await trainAt(store, account, { trainOn: leaking, keepsChoice });
		assert.ok(waiting);
		assert.deepEqual([waiting.outcome, waiting.report.doubts], ['waits', ['likely leaks']]);
		assert.match(
			useOf(waiting),
			/: all 60 visitors who got days since page thanks converted, so it may be known only afterwards \(and 1 other feature\)\. /,
		);
		assert.match(useOf(waiting), new RegExp(`'caskade model use AID return ${waiting.version}' takes it`));
		assert.ok((await activeOf(store, account.id)).includes(`return vid ${first?.version}`));
	}
	const [waiting] = await trainAt(store, account, { trainOn: leaking });
	const name = { goal: 'return', scope: 'vid', version: String(waiting?.version) } as const;
	await store.control.activateModel(account.id, name);
	const [accepted] = await trainAt(store, account, { trainOn: leaking, keepsChoice: true });
	assert.deepEqual([accepted?.outcome, accepted?.former?.version], ['active', waiting?.version]);
});

test('a model that learned from outcomes not known yet is used with a warning, until the next one is', async (t) => {
	const { store, account } = await place(t, sqlite, 300);
	const [early] = await trainAt(store, account, {
		trainOn: reporting({ overlaps: true }),
		keepsChoice: true,
	});
	assert.ok(early);
	assert.equal(early.outcome, 'active');
	assert.match(useOf(early), /Warning: too few outcomes were known .* Train again/);
	const [next] = await trainAt(store, account, {
		trainOn: reporting({ overlaps: false }),
		keepsChoice: true,
	});
	assert.ok(next);
	assert.deepEqual([next.outcome, next.former?.version], ['active', early.version]);
	assert.doesNotMatch(useOf(next), /Warning/);
});

test('a goal that is never reached gets the base rate and a warning', async (t) => {
	const { store, account } = await place(t);
	const [trained] = await trainAt(store, account, { goals: [never] });
	assert.equal(trained?.active, false);
	assert.equal(trained?.outcome, 'base rate');
	assert.deepEqual([trained?.report.verdict, trained?.report.conversions], ['few conversions', 0]);
	assert.deepEqual(await activeOf(store, account.id), []);
	assert.equal((await store.control.models(account.id)).length, 2, 'its reports are kept all the same');
});

test('nothing is stored if there is nothing to learn from', async (t) => {
	const { store } = await place(t);
	const id = await addAccount(store, 'c-a-empty');
	for (const { version, outcome, report } of await trainAt(store, {
		id,
		aid: 'c-a-empty',
		...unset,
	})) {
		assert.equal(version, null);
		assert.deepEqual([outcome, report.verdict], ['nothing stored', 'no rows']);
	}
	assert.deepEqual(await store.control.models(id), []);
});

test('the newest 10 versions of each goal and scope are kept, and the active one whatever its age', {
	skip: takesLong,
}, async (t) => {
	const { store, account } = await place(t, sqlite, 5);
	const about = { goals: [never], trainOn: trainOnce };
	const [first] = await trainAt(store, account, about);
	await trainAt(store, account, about);
	const oldest = { goal: 'never', scope: 'vid', version: String(first?.version) } as const;
	await store.control.activateModel(account.id, oldest);
	for (let time = 0; time < 12; time++) await trainAt(store, account, { ...about, keepsChoice: true });
	const versions = (scope: string) =>
		store.control
			.models(account.id)
			.then((models) => models.filter((model) => model.scope === scope).map(({ version }) => version));
	assert.equal((await versions('sid')).length, 10);
	const kept = await versions('vid');
	assert.equal(kept.length, 11);
	assert.equal(kept[0], oldest.version);
});

test('a version chosen by an operator stays active until training is run by hand', {
	skip: takesLong,
}, async (t) => {
	const { store, account } = await place(t, sqlite, 300);
	const trainOn = trainOnce;
	const [first] = await trainAt(store, account, { trainOn });
	const [second] = await trainAt(store, account, { trainOn, keepsChoice: true });
	assert.equal(second?.active, true, 'the newest was active, so nothing had been chosen');
	const chosen = { goal: 'return', scope: 'vid', version: String(first?.version) } as const;
	await store.control.activateModel(account.id, chosen);
	const [third] = await trainAt(store, account, { trainOn, keepsChoice: true });
	assert.equal(third?.active, false);
	assert.deepEqual([third?.outcome, third?.former?.version], ['chosen by hand', first?.version]);
	assert.ok((await activeOf(store, account.id)).includes(`return vid ${first?.version}`));
	await store.control.activateModel(account.id, { ...chosen, version: null });
	const [fourth] = await trainAt(store, account, { trainOn, keepsChoice: true });
	assert.deepEqual([fourth?.outcome, fourth?.former], ['chosen by hand', null]);
	const [fifth] = await trainAt(store, account, { trainOn });
	assert.equal(fifth?.active, true);
});

const told = ([text, fields]: [string, object]) => `${text} ${'aid' in fields && fields.aid}`;

function scheduleAt(store: OpenStore, nowMs: () => number) {
	const { log, lines } = collectWork();
	const stopping = new AbortController();
	return {
		lines,
		stopping,
		options: {
			everyMs: hourMs,
			now: nowMs,
			log,
			signal: stopping.signal,
			train: async (account: Parameters<typeof trainAt>[1], asOfMs: number) =>
				trainAt(store, account, {
					asOfMs,
					keepsChoice: true,
					goals: await store.control.goals(account.id),
				}),
		},
	};
}

test('an account is trained on schedule when its newest model is old enough, whichever server notices', async (t) => {
	const { store, account } = await place(t);
	await addAccount(store, 'c-a-empty');
	let nowMs = Date.now();
	const { lines, options } = scheduleAt(store, () => nowMs);
	await trainDue(store, options);
	const trained = () => lines.splice(0).map(told);
	assert.deepEqual(
		trained(),
		Array(4).fill(`trained ${account.aid}`),
		'two goals of visitors and of visits; nothing was due to renew; no word of the empty one',
	);
	await trainDue(store, options);
	assert.deepEqual(trained(), []);
	nowMs = Date.now() + 3_600_001;
	await trainDue(store, options);
	assert.equal(trained().length, 4);
});

test('an account whose newest model this version cannot apply is trained at once', async (t) => {
	const { store, account } = await place(t);
	const { lines, options } = scheduleAt(store, () => Date.now());
	await trainDue(store, options);
	lines.splice(0);
	const ofOldFormat = { goal: 'subscription', scope: 'vid', body: '{"format":1}', report: '{}' } as const;
	await store.control.insertModel(account.id, ofOldFormat, 'activate it');
	await trainDue(store, options);
	assert.equal(lines.splice(0).length, 4);
	await trainDue(store, options);
	assert.deepEqual(lines, []);
});

test('a failing account is reported and does not stop the training of others', async (t) => {
	const { store, account } = await place(t);
	await store.control.createAccount({ aid: 'c-a-broken', client: 'acme', origins: [] }, async () => {});
	await store.control.createAccount({ aid: 'c-a-off', client: 'acme', origins: [] }, async () => {});
	await store.control.setAccountDisabled('c-a-off', true);
	const { lines, stopping, options } = scheduleAt(store, Date.now);
	const ended = runScheduledTraining(store, options);
	await eventually('all are told', () => lines.length === 6, 60_000);
	stopping.abort();
	await ended;
	assert.deepEqual(lines.map(told).sort(), [
		...Array(4).fill(`trained ${account.aid}`),
		'training failed c-a-broken',
		'training failed c-a-broken',
	]);
});
