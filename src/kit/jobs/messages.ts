import type { EntranceSettings } from '../../assembly/console/entrance.ts';
import type { TrainedGoal } from '../../capabilities/training/judge/account-training.ts';
import type { TrainedLift } from '../../capabilities/training/judge/experiment-training.ts';
import type { TrainingOptions } from '../../capabilities/training/judge/train.ts';
import type { ServedScore } from '../../capabilities/training/store/served-scores.ts';
import type { Dataset } from '../../core/scoring/rows/dataset.ts';
import type { StorePlace } from '../../core/store/store.ts';
import type { ReportedAccount, ReportQuery } from '../reports/report-query.ts';

/** Makes a report. The result is its JSON. */
export interface ReportJob {
	readonly type: 'report';
	readonly account: ReportedAccount;
	readonly query: ReportQuery;
	/** Whether requests come first. */
	readonly isInBackground?: boolean;
}

/** Trains an account's goals. */
export interface TrainingJob {
	readonly type: 'training';
	readonly aid: string;
	/** All goals of the account if missing. */
	readonly goal?: string | undefined;
	readonly asOfMs: number;
	readonly isOfNow: boolean;
	readonly seed: number;
	/** Whether a version that an operator chose stays active. */
	readonly keepsChoice: boolean;
	/** Whether requests come first: then it uses one core, and yields it to them. */
	readonly isInBackground: boolean;
}

/** Learns from an experiment for whom being treated changes most. */
export interface LiftJob {
	readonly type: 'lift';
	readonly aid: string;
	readonly experiment: string;
	/** The experiment's own if missing. */
	readonly goal?: string | undefined;
	readonly seed: number;
	readonly isInBackground?: boolean;
}

export type ComputeJob = ReportJob | TrainingJob | LiftJob;
export type ResultOf<Job extends ComputeJob> = Job extends ReportJob
	? string
	: Job extends LiftJob
		? TrainedLift
		: readonly TrainedGoal[];

/** A message to the thread of jobs. */
export interface ComputeData {
	readonly place: StorePlace;
	readonly job: ComputeJob;
}

/** One of the models of a training. */
export interface ModelJob {
	readonly dataset: Dataset;
	readonly options: Omit<TrainingOptions, 'onProgress'>;
}

/** What the thread of the console starts with. */
export interface ConsoleData {
	readonly place: StorePlace;
	readonly entrance: EntranceSettings;
}

/** What a process does besides answering. Every part may run in several processes; they take turns by what is stored. */
export interface BackgroundWork {
	/** Folds the log into profiles, keeps what came in on past days, and evaluates visitors for webhooks and sends these. */
	readonly followsLog: boolean;
	/** Measures base rates and compares scores with outcomes. */
	readonly keepsScores: boolean;
	/** With `keepsScores`: the interval between trainings. Without it, no models are trained. */
	readonly trainEveryMs?: number | undefined;
	/** Older hits are deleted. */
	readonly keepHitsDays?: number | undefined;
	/** Whether the touches of converted visitors stay. */
	readonly keepTouches?: boolean | undefined;
}

/** What the thread starts with. */
export interface BackgroundData {
	readonly place: StorePlace;
	readonly work: BackgroundWork;
	/** Whether there is a webhook. */
	readonly hasWebhooks: boolean;
}

export type ToBackground =
	/** An account has profiles to fold. */
	| { readonly type: 'fold'; readonly accountId: number }
	/** Scores that pages were told are to be kept. */
	| { readonly type: 'served'; readonly accountId: number; readonly scores: readonly ServedScore[] }
	/** Visitors of accounts with webhooks may have changed. */
	| { readonly type: 'changed'; readonly accountIds: readonly number[] }
	/** There is a webhook. */
	| { readonly type: 'webhooks' };

/** How often something happened, for metrics. */
export type Counted = 'delivered' | 'failed' | 'disabled';
/** How much there is of something, for metrics. */
export type Level = 'foldingWaiting' | 'promisesBroken';

export type FromBackground =
	| { readonly counted: Counted }
	| { readonly level: Level; readonly amount: number };
