import type { TrainedGoal, TrainingProgress } from '../scoring/account-training.ts';
import type { ScheduleReport } from './scheduled-training.ts';

/** The input of a training thread. */
export interface TrainingRequest {
	readonly database: string;
	readonly stage?: string | undefined;
	readonly job:
		| {
				readonly type: 'once';
				readonly aid: string;
				/** All goals of the account if missing. */
				readonly goal?: string | undefined;
				readonly asOfMs: number;
				readonly isOfNow: boolean;
				readonly seed: number;
		  }
		| {
				readonly type: 'schedule';
				/** Training interval. Without it, no models are trained. */
				readonly everyMs?: number | undefined;
		  };
}

export type TrainingMessage =
	| { readonly type: 'progress'; readonly progress: TrainingProgress }
	| { readonly type: 'done'; readonly trained: readonly TrainedGoal[] }
	| { readonly type: 'round'; readonly report: ScheduleReport };
