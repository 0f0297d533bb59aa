import type { Goal } from '../domain/goal.ts';
import type { Profile } from '../domain/profile.ts';
import type { HistoryExtent, VisitorHistory } from '../store/account/visitor-history.ts';
import { Dataset } from './dataset.ts';
import type { FeatureRow, FeatureSet } from './features.ts';
import { profileFeatures, profileRows, vocabularyOf } from './profile-features.ts';
import { seededRandom } from './random.ts';
import { cutsOf, type Snapshot, type SnapshotPlan, visitorSnapshots, visitSnapshots } from './snapshots.ts';

/** Reads an account's history; see `ClientReader`. */
export interface HistoryReader {
	historyExtent(asOfMs: number): Promise<HistoryExtent>;
	vidsAfter(vid: string, limit: number): Promise<string[]>;
	visitorHistories(vids: readonly string[], asOfMs: number): Promise<VisitorHistory[]>;
}

export interface RowsOptions {
	readonly goals: readonly Goal[];
	readonly asOfMs: number;
	readonly seed: number;
	/** With fewer visitors each gives several rows. Default: 100,000. */
	readonly fewestRows?: number;
	/** Of visitors. */
	readonly onProgress: (done: number) => void;
}

/** Rows of one goal, of visitors or of single visits. */
export interface GoalRows {
	readonly goal: Goal;
	readonly scope: 'vid' | 'sid';
	readonly horizonMs: number;
	readonly dataset: Dataset;
}

export interface AccountRows {
	readonly rows: readonly GoalRows[];
	/** How they were made, in sentences. */
	readonly told: readonly string[];
}

const dayMs = 86_400_000;
/** Bound the work: of more, visitors are drawn. */
const maxVisitors = 150_000;
const maxHits = 2_000_000;
const maxSnapshotsOfOne = 8;
const cuts = 8;
/** Whoever is read first waits in memory, and shows how many visitors there are and what they have in common. */
const maxFirstVisitors = 5000;
const maxFirstHits = 50_000;
const vidsPerPage = 5000;
const visitorsPerRead = 250;

/** Makes the rows of all goals in one pass over an account's history. The same history up to then gives the same rows. */
export async function accountRows(reader: HistoryReader, options: RowsOptions): Promise<AccountRows> {
	const { goals, asOfMs, seed, fewestRows = 100_000 } = options;
	const extent = await reader.historyExtent(asOfMs);
	let isTaken: (vid: string) => boolean = () => true;
	const histories = readHistories(reader, options, (vid) => isTaken(vid));
	const first: VisitorHistory[] = [];
	let firstHits = 0;
	let all = false;
	while (first.length < maxFirstVisitors && firstHits < maxFirstHits) {
		const { done, value } = await histories.next();
		all = done ?? false;
		if (all) break;
		first.push(value as VisitorHistory);
		firstHits += (value as VisitorHistory).hits.length;
	}
	const visitors = all ? first.length : Math.round((extent.hits * first.length) / firstHits);
	const share = Math.min(1, maxVisitors / visitors, maxHits / extent.hits);
	isTaken = (vid) => lots(vid, seed)() < share;
	const maxSnapshots = Math.max(1, Math.min(maxSnapshotsOfOne, Math.floor(fewestRows / (visitors * share))));
	const collectors = [...Map.groupBy(goals, ({ horizonDays }) => horizonDays)].flatMap(
		([horizonDays, ofHorizon]) => {
			const horizonMs = Math.round(horizonDays * dayMs);
			const plan: SnapshotPlan = {
				...{ asOfMs, horizonMs, maxSnapshots },
				goals: ofHorizon,
				cutsMs: cutsOf(extent.fromMs, asOfMs - horizonMs, cuts),
			};
			return [
				new RowCollector('vid', ofHorizon, plan, visitorSnapshots),
				new RowCollector('sid', ofHorizon, plan, visitSnapshots),
			];
		},
	);
	const take = (history: VisitorHistory) => {
		for (const [index, collector] of collectors.entries())
			collector.take(history, lots(history.vid, seed + index + 1));
	};
	const readFirst = first.length;
	for (const history of first.splice(0)) if (isTaken(history.vid)) take(history);
	for (const collector of collectors) collector.fixFeatures();
	// Some were read before it was known who is taken.
	for await (const history of histories) if (isTaken(history.vid)) take(history);
	return {
		rows: collectors.flatMap((collector) => collector.goalRows()),
		told: [
			share < 1
				? `Of about ${visitors} visitors, ${(share * 100).toFixed(1)} % were drawn by their vid: their number bounds the work.`
				: `All ${all ? readFirst : `about ${visitors}`} visitors were read.`,
			maxSnapshots === 1
				? 'Each visitor gives one row, so that nobody is among those learned from and those judged by.'
				: `There are few visitors, so each gives up to ${maxSnapshots} rows; a visitor may be among those learned from and, later, among those judged by.`,
		],
	};
}

async function* readHistories(
	reader: HistoryReader,
	{ asOfMs, onProgress }: RowsOptions,
	isTaken: (vid: string) => boolean,
): AsyncGenerator<VisitorHistory> {
	let last = '';
	let done = 0;
	for (;;) {
		const page = await reader.vidsAfter(last, vidsPerPage);
		for (let from = 0; from < page.length; from += visitorsPerRead) {
			const vids = page.slice(from, from + visitorsPerRead).filter(isTaken);
			if (vids.length > 0) yield* await reader.visitorHistories(vids, asOfMs);
			done += Math.min(visitorsPerRead, page.length - from);
			onProgress(done);
		}
		if (page.length < vidsPerPage) return;
		last = page.at(-1) as string;
	}
}

/** Gathers the rows of the goals that have one horizon. */
class RowCollector {
	readonly #scope: 'vid' | 'sid';
	readonly #goals: readonly Goal[];
	readonly #plan: SnapshotPlan;
	readonly #snapshotsOf: typeof visitorSnapshots;
	readonly #labels: number[][];
	/** Until the features are fixed. */
	#waiting: { vid: string; snapshot: Snapshot }[] = [];
	#dataset = new Dataset({ numeric: [], categorical: [] });
	#toRow: (profile: Profile, nowMs: number) => FeatureRow = () => ({ numeric: [], categorical: [] });
	#fixed = false;

	constructor(
		scope: 'vid' | 'sid',
		goals: readonly Goal[],
		plan: SnapshotPlan,
		snapshotsOf: typeof visitorSnapshots,
	) {
		this.#scope = scope;
		this.#goals = goals;
		this.#plan = plan;
		this.#snapshotsOf = snapshotsOf;
		this.#labels = goals.map(() => []);
	}

	take(history: VisitorHistory, random: () => number): void {
		for (const snapshot of this.#snapshotsOf(history, this.#plan, random))
			if (this.#fixed) this.#add(history.vid, snapshot);
			else this.#waiting.push({ vid: history.vid, snapshot });
	}

	/** From what the first visitors have in common; a feature that has one value for all of them says nothing. */
	fixFeatures(): void {
		const profiles = this.#waiting.map(({ snapshot }) => snapshot.profile);
		const all = profileFeatures(vocabularyOf(profiles));
		const toRow = profileRows(all);
		const rows = this.#waiting.map(({ snapshot: { profile, atMs } }) => toRow(profile, atMs));
		const features = varying(all, rows);
		this.#dataset = new Dataset(features);
		this.#toRow = profileRows(features);
		this.#fixed = true;
		for (const { vid, snapshot } of this.#waiting.splice(0)) this.#add(vid, snapshot);
	}

	#add(vid: string, { profile, atMs, labels }: Snapshot): void {
		this.#dataset.add({ ...this.#toRow(profile, atMs), label: 0, atMs, group: vid });
		for (const [goal, label] of labels.entries()) this.#labels[goal]?.push(label);
	}

	goalRows(): GoalRows[] {
		return this.#goals.map((goal, index) => ({
			goal,
			scope: this.#scope,
			horizonMs: this.#plan.horizonMs,
			dataset: this.#dataset.withLabels(Uint8Array.from(this.#labels[index] ?? [])),
		}));
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

/** Random numbers of a visitor's own, whatever other visitors there are. */
function lots(vid: string, seed: number): () => number {
	let hash = 0x811c9dc5;
	for (let index = 0; index < vid.length; index++) hash = Math.imul(hash ^ vid.charCodeAt(index), 0x01000193);
	return seededRandom(Math.imul(hash ^ seed, 0x9e3779b1));
}
