import type { TrainedGoal, TrainingProgress } from '../judge/account-training.ts';
import type { TrainedLift } from '../judge/experiment-training.ts';
import type { TrainingOptions } from '../judge/train.ts';
import type { Dataset } from '../rows/dataset.ts';

declare module '../../../kit/jobs/compute-jobs.ts' {
	interface ComputeJobs {
		training: { job: TrainingJob; progress: TrainingProgress; result: readonly TrainedGoal[] };
		lift: { job: LiftJob; progress: TrainingProgress; result: TrainedLift };
	}
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

/** One of the models of a training. */
export interface ModelJob {
	readonly dataset: Dataset;
	readonly options: Omit<TrainingOptions, 'onProgress'>;
}
