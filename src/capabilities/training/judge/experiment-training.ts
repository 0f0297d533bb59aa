import { compareTexts } from '../../../core/domain/compare-texts.ts';
import { type Goal, type GoalCounts, horizonMsOf } from '../../../core/domain/goal.ts';
import type { Profile } from '../../../core/domain/profile.ts';
import { OperatorError } from '../../../core/errors.ts';
import { isoTime } from '../../../core/format/iso-time.ts';
import { counted, formatNumber } from '../../../core/format/numbers.ts';
import type { Account } from '../../../core/store/control/control-store.ts';
import type { Store } from '../../../core/store/store.ts';
import { visitorHistories } from '../../../kit/reading/histories.ts';
import { maxFirstVisitors, RowCollector } from '../rows/account-rows.ts';
import { sampledRows } from '../rows/dataset.ts';
import { profilesAt } from '../rows/snapshots.ts';
import { deleteOldVersions, type TrainingProgress } from './account-training.ts';
import { type GroupCounts, type LiftModelReport, trainLift } from './train-lift.ts';

/** Somebody who has entered an experiment, and what became of it. */
export interface LiftEntrant {
	/** Of the entry. */
	readonly atMs: number;
	/** The visitor, and others whom a customer id had joined to it. */
	readonly vids: readonly string[];
	readonly isTreated: boolean;
	/** Undefined while the goal's horizon is not over. */
	readonly isConverted: boolean | undefined;
}

/** The report on a model of lift, which is stored with it. */
export interface ExperimentReport extends LiftModelReport {
	readonly kind: 'lift';
	readonly goal: string;
	readonly scope: 'lift';
	readonly experiment: string;
	/** Nothing later was used. ISO 8601, UTC. */
	readonly asOf: string;
	readonly horizonDays: number;
	readonly counts: GoalCounts;
	/** Who entered so lately that the outcome is not known. */
	readonly waiting: number;
}

export interface TrainedLift {
	readonly version: string;
	/** Whether it is served from now on; otherwise nobody has a lift. */
	readonly active: boolean;
	readonly report: ExperimentReport;
}

export interface ExperimentTraining {
	readonly account: Pick<Account, 'id' | 'aid'>;
	readonly goal: Goal;
	readonly experiment: { readonly name: string };
	readonly entrants: readonly LiftEntrant[];
	readonly seed: number;
	readonly onProgress: (progress: TrainingProgress) => void;
}

/** With fewer, chance would choose whom to persuade. */
const minLiftConversions = 500;
/** Of more entrants, evenly spread ones are learned from. */
const maxRows = 100_000;
const entrantsPerRead = 250;
const stepsOfTraining = 100;

/**
 * Learns from the visitors of an experiment that has ended for whom being treated changes most, and stores the model with its
 * report. It becomes active if its order of held-back visitors is better than chance; otherwise none is.
 * @throws OperatorError where too few of them have reached the goal
 */
export async function trainExperiment(
	store: Store,
	{ account, goal, experiment, entrants, seed, onProgress }: ExperimentTraining,
): Promise<TrainedLift> {
	const known = entrants
		.filter(({ isConverted }) => isConverted !== undefined)
		.sort((a, b) => a.atMs - b.atMs || compareTexts(a.vids[0] ?? '', b.vids[0] ?? ''));
	requireConversions(known, entrants.length - known.length, { goal, experiment });
	const sample = Array.from(sampledRows(known.length, maxRows), (place) => known[place] as LiftEntrant);
	const horizonMs = horizonMsOf(goal);
	const collector = new RowCollector('vid', [goal], horizonMs);
	const treated: number[] = [];
	const asOfMs = store.now();
	for (let from = 0; from < sample.length; from += entrantsPerRead) {
		const some = sample.slice(from, from + entrantsPerRead);
		const vids = some.flatMap((entrant) => entrant.vids);
		const histories = new Map(
			(await store.read(account.id, visitorHistories(vids, asOfMs))).map((one) => [one.vid, one]),
		);
		for (const { atMs, vids, isTreated, isConverted } of some) {
			const profile = vids
				.map((vid) => histories.get(vid))
				.map((history) => history && (profilesAt(history, [atMs])[0] ?? undefined))
				.reduce(laterOf, undefined);
			if (!profile) continue;
			collector.add(vids[0] as string, { atMs, profile, labels: [isConverted ? 1 : 0] });
			treated.push(isTreated ? 1 : 0);
		}
		if (collector.waiting >= maxFirstVisitors) collector.fixFeatures();
		const done = Math.min(sample.length, from + entrantsPerRead);
		onProgress({ step: 'read', what: experiment.name, done, total: sample.length });
	}
	collector.fixFeatures();
	const [rows] = collector.goalRows();
	if (!rows) throw new Error('a collector of one goal has its rows');
	const { model, report } = trainLift(
		{ dataset: rows.dataset, treated: Uint8Array.from(treated) },
		{
			seed,
			onProgress: (share) =>
				onProgress({
					step: 'train',
					what: `lift of ${goal.name}`,
					done: Math.floor(share * stepsOfTraining),
					total: stepsOfTraining,
				}),
		},
	);
	const stored: ExperimentReport = {
		kind: 'lift',
		goal: goal.name,
		scope: 'lift',
		experiment: experiment.name,
		asOf: isoTime(asOfMs),
		horizonDays: goal.horizonDays,
		counts: goal.counts,
		waiting: entrants.length - known.length,
		...report,
	};
	const { version } = await store.control.insertModel(
		account.id,
		{ goal: goal.name, scope: 'lift', body: JSON.stringify(model), report: JSON.stringify(stored) },
		report.serves ? 'activate it' : 'activate none',
	);
	await deleteOldVersions(store.control, account.id, stored);
	return { version, active: report.serves, report: stored };
}

function requireConversions(
	known: readonly LiftEntrant[],
	waiting: number,
	{ goal, experiment }: Pick<ExperimentTraining, 'goal' | 'experiment'>,
): void {
	const countsOf = (isTreated: boolean): GroupCounts => {
		const group = known.filter((entrant) => entrant.isTreated === isTreated);
		return { visitors: group.length, conversions: group.filter((one) => one.isConverted).length };
	};
	const [treated, holdout] = [countsOf(true), countsOf(false)];
	const conversions = treated.conversions + holdout.conversions;
	if (conversions >= minLiftConversions && holdout.conversions > 0 && treated.conversions > 0) return;
	const textOf = (group: GroupCounts) =>
		`${formatNumber(group.conversions)} of ${formatNumber(group.visitors)}`;
	throw new OperatorError(
		`A model of lift needs ${minLiftConversions} visitors who have reached the goal, of both groups. In experiment ${experiment.name}, ${formatNumber(conversions)} have reached ${goal.name}: ${textOf(treated)} treated and ${textOf(holdout)} held out${waiting > 0 ? `; ${counted(waiting, 'other visitor')} entered less than ${counted(goal.horizonDays, 'day')} ago` : ''}.`,
	);
}

/** Of visitors of one person, the one who acted last. */
function laterOf(one: Profile | undefined, other: Profile | undefined): Profile | undefined {
	return one && (!other || one.lastAtMs >= other.lastAtMs) ? one : other;
}
