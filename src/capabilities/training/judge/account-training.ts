import type { CaskScope } from '../../../core/domain/cask-scope.ts';
import { delayMsOf, type Goal, type GoalCounts } from '../../../core/domain/goal.ts';
import { isoTime } from '../../../core/format/iso-time.ts';
import { collectGarbage } from '../../../core/garbage.ts';
import { countVisitors } from '../../../core/store/account/reading/visitors.ts';
import type { Account, ModelName } from '../../../core/store/control/control-store.ts';
import type { Store } from '../../../core/store/store.ts';
import { type HistoryAccount, historyReader } from '../../../kit/reading/histories.ts';
import type { Estimate } from '../fit/measure.ts';
import { accountRows, type GoalRows, type TrainingHistory } from '../rows/account-rows.ts';
import type { Dataset } from '../rows/dataset.ts';
import { measureBaseRates } from '../serve/base-rate.ts';
import { type TrainedModel, type TrainingOptions, train } from './train.ts';
import type { LikelyLeak, TrainingReport } from './training-report.ts';

/** The report on one goal of an account, which is stored with the model. */
export interface GoalReport extends TrainingReport {
	readonly goal: string;
	/** `vid`: visitors are scored; `sid`: single visits. */
	readonly scope: CaskScope;
	/** Nothing later was used. ISO 8601, UTC. */
	readonly asOf: string;
	readonly horizonDays: number;
	/** Which subscription events reach the goal. */
	readonly counts: GoalCounts;
	readonly history: TrainingHistory;
	/** Served while no model is active; see `BaseRate`. */
	readonly baseRates: readonly number[];
	/** Why a person should look at it before it is used. */
	readonly doubts: readonly Doubt[];
}

/** Why a trained model is not used by itself: its report names likely leaks that the active version does not have. */
export type Doubt = 'likely leaks';

/** The model that was active before, as its own training judged it. */
export interface PreviousModel {
	readonly version: string;
	/** It has learned from nothing later. ISO 8601, UTC. */
	readonly asOf: string | null;
	readonly auc: Estimate | null;
	readonly logLoss: number | null;
	readonly baseRateLogLoss: number | null;
}

/** What became of a trained model. */
export type TrainingOutcome =
	/** It scores from now on. */
	| 'active'
	/** It is no better than the base rate, which is served. */
	| 'base rate'
	/** There was no row to learn from, so nothing was stored, and nothing has changed. */
	| 'nothing stored'
	/** It was stored, but an operator should look at its doubts first. */
	| 'waits'
	/** It was stored, but an operator has chosen what is served. */
	| 'chosen by hand'
	/** It was stored, but the active version has learned from later data. */
	| 'knows less';

export interface TrainedGoal {
	/** Null if nothing was stored. */
	readonly version: string | null;
	readonly outcome: TrainingOutcome;
	/** Whether it scores from now on. */
	readonly active: boolean;
	/** The version that was active before. */
	readonly former: PreviousModel | null;
	readonly report: GoalReport;
}

export interface AccountTraining {
	readonly account: HistoryAccount & Pick<Account, 'aid'>;
	readonly goals: readonly Goal[];
	readonly asOfMs: number;
	/** Whether that is now, not a moment of the past. */
	readonly isOfNow: boolean;
	readonly seed: number;
	/**
	 * Whether a version that an operator chose instead of the newest stays active. Otherwise the new one becomes
	 * active.
	 */
	readonly keepsChoice: boolean;
	readonly onProgress: (progress: TrainingProgress) => void;
}

export interface TrainingProgress {
	readonly step: 'read' | 'train';
	/** What is being trained. */
	readonly what: string;
	/** Of visitors that are read; of steps of training. */
	readonly done: number;
	readonly total: number;
}

/** The steps of one model. */
const stepsOfModel = 100;

/** The number of versions kept for each goal and scope, besides the active one. */
const keptVersions = 10;

/** Trains a model, here or on another thread. */
export type TrainModel = (dataset: Dataset, options: TrainingOptions) => TrainedModel | Promise<TrainedModel>;

/**
 * Trains every goal on an account's history, for visitors and for visits, and stores each model with its report. A
 * model that is better than the base rate becomes active, unless there are doubts. Without one, the base rate is served.
 * @param atOnce how many models are trained at the same time, where `trainOn` uses other threads
 */
export async function trainAccount(
	store: Store,
	training: AccountTraining,
	trainOn: TrainModel = train,
	atOnce = 1,
): Promise<TrainedGoal[]> {
	const { account, goals, seed, onProgress } = training;
	const reader = historyReader(store, account);
	const total = await store.read(account.id, countVisitors());
	onProgress({ step: 'read', what: account.aid, done: 0, total });
	const { rows, history, asOfMs, vids } = await accountRows(reader, {
		goals,
		asOfMs: training.asOfMs,
		seed,
		onProgress: (done) => onProgress({ step: 'read', what: account.aid, done, total: Math.max(done, total) }),
	});
	const rates = await measureBaseRates(reader, goals, asOfMs, vids);
	// The base rates served now are not those of a past moment.
	if (training.isOfNow)
		await store.control.setBaseRates(
			account.id,
			new Map([...rates].map(([name, { byRecency }]) => [name, byRecency])),
		);
	// It would stay as long as other threads train.
	collectGarbage();
	const shares = rows.map(() => 0);
	const onShare = (place: number, share: number) => {
		shares[place] = share;
		const first = rows[shares.findIndex((each) => each < 1)] ?? rows.at(-1);
		const done = Math.floor(stepsOfModel * shares.reduce((sum, each) => sum + each, 0));
		onProgress({ step: 'train', what: nameOf(first), done, total: stepsOfModel * rows.length });
	};
	const models: TrainedModel[] = [];
	const left = rows.entries();
	const trainNext = async () => {
		for (const [place, { goal, horizonMs, dataset }] of left) {
			onShare(place, 0);
			models[place] = await trainOn(dataset, {
				seed,
				horizonMs,
				delayMs: delayMsOf(goal),
				onProgress: (share) => onShare(place, share),
			});
			onShare(place, 1);
		}
	};
	await Promise.all(Array.from({ length: atOnce }, trainNext));
	const trained: TrainedGoal[] = [];
	for (const [place, { goal, scope }] of rows.entries()) {
		const { model, report } = models[place] as TrainedModel;
		trained.push(
			await keep(store, training, JSON.stringify(model), {
				goal: goal.name,
				counts: goal.counts,
				horizonDays: goal.horizonDays,
				scope,
				asOf: isoTime(asOfMs),
				history,
				baseRates: rates.get(goal.name)?.byRecency ?? [],
				...report,
			}),
		);
	}
	return trained;
}

function nameOf(rows: Pick<GoalRows, 'goal' | 'scope'> | undefined): string {
	return rows ? `${rows.goal.name} (${rows.scope === 'vid' ? 'visitors' : 'visits'})` : '';
}

async function keep(
	{ control }: Store,
	{ account, keepsChoice }: AccountTraining,
	body: string,
	trained: Omit<GoalReport, 'doubts'>,
): Promise<TrainedGoal> {
	const { goal, scope } = trained;
	const before = await versionsOf(control, account.id, trained);
	const active = before.find((model) => model.active);
	const activeReport: Partial<GoalReport> | undefined =
		active && JSON.parse(await control.modelReport(account.id, active));
	const former = active && activeReport ? formerModel(active, activeReport) : null;
	const doubts = doubtsOf(trained, activeReport);
	const report = { ...trained, doubts };
	if (report.rows === 0) return { version: null, outcome: 'nothing stored', active: false, former, report };
	const chosenByHand = keepsChoice && (await isChosenByHand(control, account.id, before));
	const knowsLess = former?.asOf != null && former.asOf > report.asOf;
	const outcome: TrainingOutcome = chosenByHand
		? 'chosen by hand'
		: knowsLess
			? 'knows less'
			: report.kind === 'prior'
				? 'base rate'
				: doubts.length > 0
					? 'waits'
					: 'active';
	const name = await control.insertModel(
		account.id,
		{ goal, scope, body, report: JSON.stringify(report) },
		outcome === 'active' ? 'activate it' : outcome === 'base rate' ? 'activate none' : 'activate nothing',
	);
	await deleteOldVersions(control, account.id, report);
	return { version: name.version, outcome, active: outcome === 'active', former, report };
}

/** Deletes all but the latest versions, and the active one. */
export async function deleteOldVersions(
	control: Store['control'],
	accountId: number,
	of: Pick<ModelName, 'goal' | 'scope'>,
): Promise<void> {
	const versions = await versionsOf(control, accountId, of);
	for (const model of versions.slice(0, -keptVersions).filter((one) => !one.active))
		await control.deleteModel(accountId, model);
}

/** Oldest first. */
async function versionsOf(
	control: Store['control'],
	accountId: number,
	{ goal, scope }: Pick<ModelName, 'goal' | 'scope'>,
) {
	return (await control.models(accountId)).filter((model) => model.goal === goal && model.scope === scope);
}

/**
 * Training activates its own model, or none if it is no better than the base rate. One with doubts changes nothing. Any
 * other state was an operator's choice.
 */
async function isChosenByHand(
	control: Store['control'],
	accountId: number,
	versions: readonly (ModelName & { readonly active: boolean })[],
): Promise<boolean> {
	for (const version of versions.toReversed()) {
		if (version.active) return false;
		const { kind, doubts = [] }: Partial<GoalReport> = JSON.parse(
			await control.modelReport(accountId, version),
		);
		if (doubts.length > 0) continue;
		return kind !== 'prior' || versions.some(({ active }) => active);
	}
	return false;
}

/** What an operator has accepted with the active version is no doubt. */
function doubtsOf({ leaks }: TrainingReport, active: Partial<GoalReport> | undefined): Doubt[] {
	const leakOf = ({ feature, text }: LikelyLeak) => JSON.stringify([feature, text]);
	const accepted = new Set(active?.leaks?.map(leakOf));
	return leaks.some((leak) => !accepted.has(leakOf(leak))) ? ['likely leaks'] : [];
}

function formerModel({ version }: ModelName, { later, asOf }: Partial<GoalReport>): PreviousModel {
	return {
		version,
		asOf: asOf ?? null,
		auc: later?.auc ?? null,
		logLoss: later?.logLoss ?? null,
		baseRateLogLoss: later?.baseRateLogLoss ?? null,
	};
}
