import type { TrainedGoal, TrainingProgress } from '../scoring/account-training.ts';
import type { ScheduleReport } from './scheduled-training.ts';

/** What a training thread is to do, and on which databases. */
export interface TrainingRequest {
	readonly database: string;
	readonly stage?: string | undefined;
	readonly job:
		| {
				readonly type: 'once';
				readonly aid: string;
				/** All of the account's, where none is named. */
				readonly goal?: string | undefined;
				readonly asOfMs: number;
				readonly isOfNow: boolean;
				readonly seed: number;
		  }
		| {
				readonly type: 'schedule';
				/** Without it nothing is trained; base rates are counted, and levels followed, all the same. */
				readonly everyMs?: number | undefined;
		  };
}

export type TrainingMessage =
	| { readonly type: 'progress'; readonly progress: TrainingProgress }
	| { readonly type: 'done'; readonly trained: readonly TrainedGoal[] }
	| { readonly type: 'round'; readonly report: ScheduleReport };
