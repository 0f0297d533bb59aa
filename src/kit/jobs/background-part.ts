import type { WorkLog } from '../../core/log.ts';
import type { OpenStore, StorePlace } from '../../core/store/store.ts';

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

/** The thread of all background work, as what a capability does there sees it. */
export interface BackgroundPlace {
	readonly store: OpenStore;
	readonly place: StorePlace;
	readonly work: BackgroundWork;
	readonly log: WorkLog;
	/** Aborted when the process stops. */
	readonly signal: AbortSignal;
	/** Tells that something has happened once more. */
	count(name: string): void;
	/** Tells how much there is of something now. */
	show(name: string, amount: number): void;
}

/** What a capability does on the thread of all background work. */
export interface BackgroundPart {
	/** Ends when the signal is aborted. */
	readonly running?: Promise<unknown> | undefined;
	/** Takes what `Background.post` has sent. */
	receive?(message: never): void;
	/** Goes on with what a killed command has left in an account with work waiting. */
	resume?(accountId: number): Promise<void>;
	/** Finishes what has begun, before the store is closed. */
	end?(): Promise<void>;
}
