import type { EntranceSettings } from '../console/entrance.ts';
import type { ConsoleAnswer, ConsoleRequest } from '../console/exchange.ts';
import type { ReportedAccount, ReportQuery } from '../reports/report-query.ts';
import type { TrainedGoal, TrainingProgress } from '../scoring/judge/account-training.ts';
import type { TrainedLift } from '../scoring/judge/experiment-training.ts';
import type { Trained, TrainingOptions } from '../scoring/judge/train.ts';
import type { Dataset } from '../scoring/rows/dataset.ts';
import type { ServedScore } from '../store/account/served-scores.ts';
import type { StorePlace } from '../store/store.ts';
import type { DeliveryReport } from '../webhooks/channel.ts';
import type { FoldingReport } from './folding.ts';
import type { JobMessage } from './job-thread.ts';
import type { KeptDaysReport } from './kept-days.ts';
import type { RetentionReport } from './retention.ts';
import type { ScheduleReport, TrainedSummary } from './scheduled-training.ts';

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

export type ComputeMessage = JobMessage<ResultOf<ComputeJob>, TrainingProgress>;

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

/** The progress is the share that is done. */
export type FromModel = JobMessage<Trained, number>;

/** What the thread of the console starts with. */
export interface ConsoleData {
	readonly place: StorePlace;
	readonly entrance: EntranceSettings;
}

export type ToConsole =
	| { readonly type: 'request'; readonly id: number; readonly request: ConsoleRequest }
	/** Finish what has begun, and end. */
	| { readonly type: 'stop' };

export type FromConsole =
	| { readonly type: 'answer'; readonly id: number; readonly answer: ConsoleAnswer }
	/** For the log. */
	| { readonly type: 'failed'; readonly path: string; readonly cause: string };

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
	| { readonly type: 'webhooks' }
	/** The outcome of a training that the thread has asked for. */
	| { readonly type: 'trained'; readonly trained: readonly TrainedSummary[] }
	| { readonly type: 'not trained'; readonly reason: string }
	/** Finish what has begun, and end. */
	| { readonly type: 'stop' };

export type FromBackground =
	| ({ readonly job: 'folding' } & FoldingReport)
	| ({ readonly job: 'days' } & KeptDaysReport)
	| ({ readonly job: 'retention' } & RetentionReport)
	| ({ readonly job: 'webhooks' } & DeliveryReport)
	| ({ readonly job: 'scores' } & ScheduleReport)
	/** An account is to be trained, on a thread of its own. */
	| { readonly job: 'training'; readonly aid: string; readonly asOfMs: number };
