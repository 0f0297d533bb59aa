import type { ServedScore } from '../../capabilities/training/store/served-scores.ts';
import type { StorePlace } from '../../core/store/store.ts';
import type { EntranceSettings } from '../console/entrance.ts';

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
