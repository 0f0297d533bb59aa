/**
 * `node bench/score-read-steps.ts [VISITORS]` measures reading a score in µs: each step alone, then all of them together.
 * It stores generated visitors in a data folder and trains a logistic and a boosting model on them.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openStore } from '../src/assembly/open-store.ts';
import type { Experiment } from '../src/capabilities/experiments/store/experiment.ts';
import { Withholding } from '../src/capabilities/experiments/withholding.ts';
import { storeHistory } from '../src/capabilities/history/store/past-history.ts';
import { train } from '../src/capabilities/training/judge/train.ts';
import { DatasetBuilder } from '../src/capabilities/training/rows/dataset.ts';
import { profileFeatures, vocabularyOf } from '../src/capabilities/training/rows/vocabulary.ts';
import { ServedSample } from '../src/capabilities/training/serve/served-sample.ts';
import { RequestCounter } from '../src/core/access/request-counter.ts';
import { monotonicMs } from '../src/core/clock.ts';
import type { Profile } from '../src/core/domain/profile.ts';
import { dayMs } from '../src/core/durations.ts';
import { logistic } from '../src/core/scoring/model/log-odds.ts';
import { Scorer } from '../src/core/scoring/model/scorer.ts';
import { profileRows } from '../src/core/scoring/rows/profile-features.ts';
import { openModel } from '../src/core/scoring/serve/goal-model.ts';
import { ModelCache } from '../src/core/scoring/serve/model-cache.ts';
import { VisitorScorer } from '../src/core/scoring/serve/visitor-scorer.ts';
import { VisitorReads } from '../src/core/segments/visitor-reads.ts';
import { visitorsFrom } from '../src/core/store/account/reading/visitors.ts';
import type { KnownAccount } from '../src/core/store/control/control-store.ts';
import { seededRandom } from '../src/kit/random.ts';

const visitors = Number(process.argv[2] ?? 2000);
const random = seededRandom(1);
const startMs = Date.UTC(2026, 9, 1);
const nowMs = startMs + 40 * dayMs;
const aid = 'c-a-bench';

const print = (text: string) => process.stdout.write(`${text}\n`);
const pick = <Item>(items: readonly Item[]) => items[Math.floor(random() ** 2 * items.length)] as Item;
const pages = ['/', 'pricing', ...Array.from({ length: 40 }, (_, index) => `blog/${index}`)];
const hex = (number: number) => number.toString(16).padStart(32, '0');

/** A random number of visits with a random number of hits, within a month. */
function hitsOf(visitor: number) {
	const hits = [];
	let atMs = startMs + random() * 20 * dayMs;
	for (let visit = Math.ceil(-Math.log(1 - random()) * 3); visit > 0; visit--) {
		const channel = pick(['direct', 'organic search', 'email', 'social', 'paid search']);
		for (let hit = Math.ceil(random() * 8); hit > 0; hit--) {
			const page = pick(pages);
			const body = {
				page,
				url: null,
				referrer: null,
				title: null,
				cid: null,
				channel,
				device: pick(['mobile', 'desktop']),
				events: random() < 0.2 ? [{ name: pick(['play', 'basket', 'search']) }] : [],
			};
			const [vid, sid] = [hex(visitor), hex(visitor * 1000 + visit)];
			hits.push({ vid, sid, atMs: Math.floor(atMs), body });
			atMs += random() * 120_000;
		}
		atMs += random() * 3 * dayMs;
	}
	return hits;
}

const folder = mkdtempSync(join(tmpdir(), 'caskade-bench-'));
const store = await openStore(`sqlite:${folder}`);
try {
	const { id: accountId } = await store.control.createAccount({ aid, client: 'bench', origins: [] }, (id) =>
		store.createAccountDatabase(id),
	);
	for (let from = 1; from <= visitors; from += 200) {
		const count = Math.min(200, visitors - from + 1);
		const hits = Array.from({ length: count }, (_, index) => hitsOf(from + index)).flat();
		await store.transact(accountId, () => storeHistory(hits, []));
	}
	const profiles = await store.read(accountId, visitorsFrom(0, visitors));
	const texts = profiles.map(({ profile }) => JSON.stringify(profile));
	const characters = texts.reduce((sum, { length }) => sum + length, 0);
	print(
		`${profiles.length} visitors, ${Math.round(characters / profiles.length)} characters of JSON each on average`,
	);

	const features = profileFeatures(vocabularyOf(profiles));
	const rowOf = profileRows(features);
	const models = [0, 1].map((interaction) => {
		const dataset = new DatasetBuilder(features);
		for (const [index, { profile }] of profiles.entries())
			dataset.add({
				...rowOf(profile, nowMs),
				atMs: index * 1000,
				label: random() < subscriptionRate(profile, interaction) ? 1 : 0,
			});
		const { model, report } = train(dataset.build(), { seed: 1 });
		const body = JSON.stringify(model);
		print(
			`${report.kind}, ${features.numeric.length + features.categorical.length} features, ${body.length} characters of JSON`,
		);
		return { kind: report.kind, scorer: new Scorer(model), body, open: openModel(report.kind, body) };
	});

	const database = new DatabaseSync(join(folder, 'accounts', `${accountId}.sqlite`), { readOnly: true });
	const statement = database.prepare('SELECT profile FROM visitor WHERE vid = ?');
	const rows = profiles.map(({ profile }) => rowOf(profile, nowMs));
	const at = (read: number) => read % profiles.length;
	printCost('look-up in SQLite', (read) => statement.get(profiles[at(read)]?.vid ?? ''));
	const wording = { currency: 'GBP', cancellationEvt: null };
	printCost('JSON.parse', (read) => JSON.parse(texts[at(read)] as string));
	printCost('row of features', (read) => rowOf(profiles[at(read)]?.profile as Profile, nowMs));
	for (const { kind, scorer, open } of models) {
		printCost(`${kind}: score of a row`, (read) => scorer.score(rows[at(read)] as (typeof rows)[number]));
		printCost(
			`${kind}: reasons`,
			(read) => open.reasons(profiles[at(read)]?.profile as Profile, nowMs, 'raise', wording),
			1000,
		);
	}
	database.close();

	const reader = store.startReading();
	const segments = Array.from({ length: 10 }, (_, number) => ({
		id: `segment-${number}`,
		name: `Segment ${number}`,
		rule: number === 0 ? 'scores["subscription"] >= 0' : `visitor.visits >= 1 && visitor.hits > ${-number}`,
	}));
	for (const { kind, body } of models) {
		const name = { goal: 'subscription', scope: 'vid', version: kind } as const;
		const known = (await store.control.accessSnapshot()).accounts.get(aid) as KnownAccount;
		const goals = known.goals.filter((goal) => goal.name === name.goal);
		const account: KnownAccount = { ...known, goals, segments, models: [name] };
		const fail = (error: unknown) => {
			throw error;
		};
		const cache = new ModelCache({ read: async () => body, onError: fail, monotonicMs });
		const scorer = new VisitorScorer({ reader, models: cache, now: () => nowMs, onError: fail });
		const counter = new RequestCounter(async () => {}, fail);
		const reads = new VisitorReads(reader, scorer, () => nowMs);
		const read = (index: number, explain = false) =>
			reads.scores({ account, scope: 'vid', subject: profiles[at(index)]?.vid ?? '' }, explain);
		await read(0);
		printCost(`${kind}: a read, all steps`, (index) => read(index));
		printCost(`${kind}: a read with reasons`, (index) => read(index, true), 1000);
		// The reads of a busy day, of which a share is drawn, or the first 2,000 of a day, most of which are.
		for (const isFresh of [false, true]) {
			const readerOf = (sampled: boolean) => () => {
				const sample = sampled ? new ServedSample({ keep: () => {}, everyMs: 1000 }) : undefined;
				const made = new VisitorReads(reader, scorer, () => nowMs, { sample });
				return (index: number) =>
					made.scores({ account, scope: 'vid', subject: profiles[at(index)]?.vid ?? '' });
			};
			printAddedCost(
				`${kind}: a read of scores of which ${isFresh ? 'most are' : 'some are'} drawn`,
				[readerOf(false), readerOf(true)],
				{ reads: profiles.length, isFresh },
			);
		}
		printExperimentCost(
			kind,
			account,
			(experiments) => {
				const asked: KnownAccount = { ...account, experiments };
				const withholding = new Withholding(reader, counter);
				const made = new VisitorReads(reader, scorer, () => nowMs, { withholding });
				return (index) =>
					made.segments({ account: asked, scope: 'vid', subject: profiles[at(index)]?.vid ?? '' });
			},
			profiles.length,
		);
	}
	await reader.close();
} finally {
	await store.close();
	rmSync(folder, { recursive: true });
}

/**
 * Probability that a visitor subscribes. Without an interaction it depends on visits and email, which a logistic model can
 * learn. With one it depends on the pricing page together with a basket, which takes boosting.
 */
function subscriptionRate({ pageTimes, events, visits, lastChannel }: Profile, interaction: number): number {
	const pricing = pageTimes.some(([page]) => page === 'pricing') ? 1 : -1;
	const basket = events.some(([name]) => name === 'basket') ? 1 : -1;
	const email = lastChannel === 'email' ? 1 : 0;
	return logistic(interaction ? 2 * pricing * basket - 1 : Math.log1p(visits) + email - 3);
}

/** Makes a reader, which reads the visitor of a number. */
type Making = () => (index: number) => unknown;

/** Prints what ten experiments, whose rules all visitors fulfil, add to reads of segments: in alternating pairs. */
function printExperimentCost(
	kind: string,
	{ segments }: KnownAccount,
	readerOf: (experiments: readonly Experiment[]) => (index: number) => unknown,
	reads: number,
): void {
	const experiments = segments.map(({ id, rule }, number) => ({
		name: `experiment-${number}`,
		segment: id,
		rule,
		goal: 'subscription',
		holdoutPercent: 10,
		secret: Buffer.alloc(32, number + 1).toString('base64url'),
		fromMs: 0,
		toMs: null,
		stoppedAtMs: null,
	}));
	for (const when of ['first', 'repeated'])
		printAddedCost(
			`${kind}: a ${when} read of segments with ten experiments`,
			[() => readerOf([]), () => readerOf(experiments)],
			{ reads, isFresh: when === 'first' },
		);
}

/** Prints the CPU time of reads with something and without it, in alternating pairs. */
function printAddedCost(
	what: string,
	[without, added]: readonly [Making, Making],
	{ reads, isFresh }: { readonly reads: number; readonly isFresh: boolean },
): void {
	const all = [without, added].map((make) => ({ make, micros: [] as number[], read: make() }));
	for (let pair = 0; pair < 101; pair++)
		for (const one of pair % 2 === 0 ? all : all.toReversed()) {
			if (isFresh) one.read = one.make();
			one.read(0);
			const before = process.cpuUsage();
			for (let index = 1; index < reads; index++) one.read(index);
			const { user, system } = process.cpuUsage(before);
			one.micros.push((user + system) / reads);
		}
	const [before, after] = all.map(({ micros }) => medianOf(micros.slice(5))) as [number, number];
	const ratios = (all[1]?.micros ?? []).map((micros, pair) => micros / (all[0]?.micros[pair] as number));
	print(
		`${after.toFixed(2).padStart(9)} µs  ${what}, ${before.toFixed(2)} without, ${((medianOf(ratios.slice(5)) - 1) * 100).toFixed(1)} % more in the median pair`,
	);
}

function medianOf(values: readonly number[]): number {
	return values.toSorted((a, b) => a - b)[values.length >> 1] as number;
}

/** Prints the time of the fastest of nine rounds: other load can only add time. */
function printCost(what: string, fn: (read: number) => unknown, reads = 10_000): void {
	for (let read = 0; read < reads / 4; read++) fn(read);
	const rounds = Array.from({ length: 9 }, () => {
		const startedAtMs = performance.now();
		for (let read = 0; read < reads; read++) fn(read);
		return ((performance.now() - startedAtMs) * 1000) / reads;
	}).sort((a, b) => a - b);
	print(`${(rounds[0] as number).toFixed(2).padStart(9)} µs  ${what}`);
}
