import { compareTexts } from '../../../core/domain/compare-texts.ts';
import { type Goal, horizonMsOf } from '../../../core/domain/goal.ts';
import { dayMs } from '../../../core/durations.ts';
import { isoTime } from '../../../core/format/iso-time.ts';
import type { FeatureRow, FeatureSet } from '../../../core/scoring/rows/features.ts';
import { profileRows } from '../../../core/scoring/rows/profile-features.ts';
import { recencyOf } from '../../../core/scoring/rows/recency.ts';
import { hashOfText, seededRandom } from '../../../kit/random.ts';
import type { AccountHistory, HistoryExtent, VisitorHistory } from '../../../kit/reading/histories.ts';
import type { Dataset } from './dataset.ts';
import { DatasetBuilder } from './dataset.ts';
import { renewalSnapshots } from './renewal-snapshots.ts';
import { cutsOf, type Snapshot, type SnapshotPlan, visitorSnapshots, visitSnapshots } from './snapshots.ts';
import { profileFeatures, vocabularyOf } from './vocabulary.ts';

export interface RowsOptions {
	readonly goals: readonly Goal[];
	readonly asOfMs: number;
	readonly seed: number;
	/** Default: 100,000. */
	readonly rows?: number;
	/** Called with the number of visitors done. */
	readonly onProgress: (done: number) => void;
}

/** The rows of one goal, for visitors or for single visits. */
export interface GoalRows {
	readonly goal: Goal;
	readonly scope: 'vid' | 'sid';
	readonly horizonMs: number;
	readonly dataset: Dataset;
}

export interface AccountRows {
	readonly rows: readonly GoalRows[];
	readonly history: TrainingHistory;
	/** Nothing later was used: the requested moment, or the end of a log that ended before it. */
	readonly asOfMs: number;
	/** Visitors, sampled by what they did; see `measureBaseRates`. */
	readonly vids: readonly string[];
}

/** The history that rows were made from. */
export interface TrainingHistory {
	readonly hits: number;
	/** The times of the first and the last hit; ISO 8601, UTC. Missing if there is none. */
	readonly from?: string;
	readonly to?: string;
	/** The number of visitors with hits. */
	readonly visitors: number;
	/** Others who are mail gateways, and left out with their hits; missing if there is none. */
	readonly gatewayVisitors?: number;
	/** The share of the visitors that was read, to bound the work. */
	readonly sampledShare: number;
	/** The whole days since the log ended, if it has: nothing is known about them, so the models are as of its end. */
	readonly silentDays: number;
}

/** Bound the work: from larger accounts, visitors are sampled. */
const maxVisitors = 150_000;
const maxHits = 2_000_000;
const cuts = 8;
/** Enough visitors to find the names that most have in common. */
export const maxFirstVisitors = 5000;
const maxFirstRows = 20_000;
/** Enough rows of renewals for the same. */
const maxFirstRenewals = 2000;
/** Enough visitors to measure a rate. */
const maxSampled = 2000;
const vidsPerPage = 5000;
const visitorsPerRead = 250;
/** A log that ended longer before the moment of training says nothing about the time since. */
const maxSilenceMs = dayMs;

/**
 * Makes the rows of all goals. The same history gives the same rows in any account: visitors are sampled and ordered by
 * what they did, never by their secret ids.
 */
export async function accountRows(reader: AccountHistory, options: RowsOptions): Promise<AccountRows> {
	const { goals, seed, onProgress, rows = 100_000 } = options;
	const extent = await reader.historyExtent(options.asOfMs);
	const asOfMs = endOfHistory(extent, options.asOfMs);
	const { size: gatewayVisitors } = await reader.gateways(options.asOfMs);
	// Each has one.
	const peoplesHits = extent.hits - gatewayVisitors;
	const listed = await listVisitors(reader, options, peoplesHits);
	const hits = Math.max(1, peoplesHits * listed.share);
	const renewals = goals.filter(({ counts }) => counts === 'renewal');
	const others = goals.filter(({ counts }) => counts !== 'renewal');
	const collectors = [...Map.groupBy(others, horizonMsOf)].flatMap(([horizonMs, ofHorizon]) => {
		const plan: SnapshotPlan = {
			asOfMs,
			horizonMs,
			goals: ofHorizon,
			cancellationEvt: reader.cancellationEvt,
			hitShare: Math.min(1, rows / 2 / hits),
			cutShare:
				Math.min(
					cuts,
					rows / 2 / Math.max(1, listed.vids.length),
					cutsForActivity({ ...extent, hits: peoplesHits }, listed),
				) / cuts,
			cutsMs: cutsOf(extent.fromMs, asOfMs - horizonMs, cuts),
		};
		return [
			new RowCollector('vid', ofHorizon, horizonMs, (history, random) =>
				visitorSnapshots(history, plan, random),
			),
			new RowCollector('sid', ofHorizon, horizonMs, (history, random) =>
				visitSnapshots(history, plan, random),
			),
		];
	});
	// A visit by itself has no subscription that could be renewed.
	const cadences = renewals.length > 0 ? await reader.cadences(asOfMs) : undefined;
	if (cadences)
		for (const goal of renewals) {
			const plan = { goal, cadences, knownToMs: asOfMs };
			collectors.push(
				new RowCollector('vid', [goal], horizonMsOf(goal), (history, random) =>
					renewalSnapshots(history, plan, random),
				),
			);
		}
	const alike = new Map<number, number>();
	for (let from = 0; from < listed.vids.length; from += visitorsPerRead) {
		for (const history of await reader.visitorHistories(
			listed.vids.slice(from, from + visitorsPerRead),
			asOfMs,
		)) {
			const signature = signatureOf(history);
			const before = alike.get(signature) ?? 0;
			alike.set(signature, before + 1);
			for (const [index, collector] of collectors.entries())
				collector.take(
					history,
					seededRandom(Math.imul(signature ^ (seed + index + 1), 0x9e3779b1) + Math.imul(before, 0x85ebca6b)),
				);
		}
		onProgress(
			Math.round((listed.total * (1 + Math.min(1, (from + visitorsPerRead) / listed.vids.length))) / 2),
		);
		const isEnough =
			from + visitorsPerRead >= maxFirstVisitors || collectors.some(({ waiting }) => waiting > maxFirstRows);
		if (isEnough)
			for (const collector of collectors)
				if (!collector.isOfRenewals || collector.waiting > maxFirstRenewals) collector.fixFeatures();
	}
	for (const collector of collectors) collector.fixFeatures();
	return {
		rows: collectors.flatMap((collector) => collector.goalRows()),
		asOfMs,
		vids: listed.vids.slice(0, maxSampled),
		history: {
			hits: peoplesHits,
			...(Number.isFinite(extent.fromMs) && { from: isoTime(extent.fromMs), to: isoTime(extent.toMs) }),
			visitors: listed.total,
			...(gatewayVisitors > 0 && { gatewayVisitors }),
			sampledShare: listed.share,
			silentDays: Math.floor((options.asOfMs - asOfMs) / dayMs),
		},
	};
}

/** Up to when a history tells what happened: a moment, or its end if that was long before. */
export function endOfHistory({ toMs }: Pick<HistoryExtent, 'toMs'>, asOfMs: number): number {
	return asOfMs - toMs > maxSilenceMs && Number.isFinite(toMs) ? toMs : asOfMs;
}

/** If visitors do little, rows of absent visitors would outnumber those of active ones. */
function cutsForActivity({ hits, uploads }: HistoryExtent, { total }: ListedVisitors): number {
	return Math.max(2, (2 * (hits + uploads)) / Math.max(1, total));
}

interface ListedVisitors {
	/** The sampled visitors, in an order that depends on their first hits. */
	readonly vids: readonly string[];
	/** The number of visitors with hits. */
	readonly total: number;
	/** The sampled share of them. */
	readonly share: number;
}

/** Samples visitors by their first hits. */
async function listVisitors(
	reader: AccountHistory,
	{ asOfMs, seed, onProgress }: RowsOptions,
	hits: number,
): Promise<ListedVisitors> {
	let lots: { vid: string; lot: number }[] = [];
	let total = 0;
	const keepLowest = () => {
		const maxListed = Math.max(1, Math.floor(Math.min(maxVisitors, (maxHits * total) / Math.max(1, hits))));
		lots = lots.sort((a, b) => a.lot - b.lot || compareTexts(a.vid, b.vid)).slice(0, maxListed);
	};
	for (let last = ''; ; ) {
		const page = await reader.vidsAfter(last, vidsPerPage);
		for (const { vid, atMs, body } of await reader.firstHits(page, asOfMs)) {
			lots.push({ vid, lot: seededRandom(hashOfText(`${seed} ${atMs} ${body}`))() });
			total++;
		}
		onProgress(Math.floor(total / 2));
		if (page.length < vidsPerPage) break;
		// The share to sample may still shrink as more visitors are read.
		if (lots.length > 4 * maxVisitors) lots = lots.sort((a, b) => a.lot - b.lot).slice(0, 2 * maxVisitors);
		last = page.at(-1) as string;
	}
	keepLowest();
	return { vids: lots.map(({ vid }) => vid), total, share: total === 0 ? 1 : lots.length / total };
}

/** A number that depends only on what a visitor did. */
function signatureOf({ hits, events }: VisitorHistory): number {
	let sid = '';
	let signature = 0;
	const mix = (text: string) => {
		signature = Math.imul(signature ^ hashOfText(text), 0x9e3779b1) ^ (signature >>> 15);
	};
	for (const hit of hits) {
		mix(`${hit.atMs} ${hit.sid === sid} ${hit.tieBreak}`);
		sid = hit.sid;
	}
	for (const { entry } of events) mix(`${entry.atMs} ${entry.tid} ${entry.evt} ${entry.revenuePence}`);
	return signature;
}

type SnapshotsOf = (history: VisitorHistory, random: () => number) => Snapshot[];

/** Collects the rows of goals that have the same horizon. */
export class RowCollector {
	readonly #scope: 'vid' | 'sid';
	readonly #goals: readonly Goal[];
	readonly #horizonMs: number;
	readonly #snapshotsOf: SnapshotsOf;
	readonly #labels: number[][];
	readonly isOfRenewals: boolean;
	/** Snapshots taken before the features were fixed. */
	#waiting: { vid: string; snapshot: Snapshot }[] = [];
	#dataset = new DatasetBuilder({ numeric: [], categorical: [] });
	#toRow: ReturnType<typeof profileRows> = () => ({ numeric: [], categorical: [] });
	#fixed = false;

	/** @param snapshotsOf of what `take` is given */
	constructor(
		scope: 'vid' | 'sid',
		goals: readonly Goal[],
		horizonMs: number,
		snapshotsOf: SnapshotsOf = () => [],
	) {
		this.#scope = scope;
		this.#goals = goals;
		this.#horizonMs = horizonMs;
		this.#snapshotsOf = snapshotsOf;
		this.#labels = goals.map(() => []);
		this.isOfRenewals = goals.some(({ counts }) => counts === 'renewal');
	}

	/** Number of snapshots that wait for the features. */
	get waiting(): number {
		return this.#waiting.length;
	}

	take(history: VisitorHistory, random: () => number): void {
		for (const snapshot of this.#snapshotsOf(history, random)) this.add(history.vid, snapshot);
	}

	add(vid: string, snapshot: Snapshot): void {
		if (this.#fixed) this.#add(vid, snapshot);
		else this.#waiting.push({ vid, snapshot });
	}

	/**
	 * Fixes the features by what the first visitors have in common. A feature with the same value for all of them is
	 * useless.
	 */
	fixFeatures(): void {
		if (this.#fixed) return;
		const profiles = this.#waiting.map(({ vid, snapshot: { profile } }) => ({ vid, profile }));
		const all = profileFeatures(vocabularyOf(profiles), this.isOfRenewals);
		const toRow = profileRows(all);
		const rows = this.#waiting.map(({ snapshot: { profile, atMs, renewing } }) =>
			toRow(profile, atMs, renewing),
		);
		const features = varying(all, rows);
		this.#dataset = new DatasetBuilder(features);
		this.#toRow = profileRows(features);
		this.#fixed = true;
		for (const { vid, snapshot } of this.#waiting.splice(0)) this.#add(vid, snapshot);
	}

	#add(vid: string, { profile, atMs, labels, renewing, knownAtMs = atMs, hits = 1 }: Snapshot): void {
		const visits = this.#scope === 'vid' ? profile.visits : 0;
		const recency = recencyOf(profile, atMs, this.#horizonMs);
		const row = this.#toRow(profile, atMs, renewing);
		this.#dataset.add({ ...row, label: 0, atMs: knownAtMs, group: vid, visits, recency, hits });
		for (const [index, ofGoal] of this.#labels.entries()) ofGoal.push(labels[index] as 0 | 1);
	}

	goalRows(): GoalRows[] {
		const dataset = this.#dataset.build();
		return this.#goals.map((goal, index) => {
			return {
				goal,
				scope: this.#scope,
				horizonMs: this.#horizonMs,
				// All goals share the columns.
				dataset: { ...dataset, labels: Uint8Array.from(this.#labels[index] ?? []) },
			};
		});
	}
}

function varying({ numeric, categorical }: FeatureSet, rows: readonly FeatureRow[]): FeatureSet {
	const [first] = rows;
	return {
		numeric: numeric.filter((_, column) =>
			rows.some((row) => !Object.is(row.numeric[column], first?.numeric[column])),
		),
		categorical: categorical.filter((_, column) =>
			rows.some((row) => row.categorical[column] !== first?.categorical[column]),
		),
	};
}
