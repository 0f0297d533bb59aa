import type { LentRequests } from '../access/quota.ts';
import type { KeyUse } from '../domain/api-key.ts';
import type { UsagePlan } from '../domain/usage-plan.ts';
import type { Tls } from '../http/tls.ts';
import type { LogLevel } from '../log.ts';
import type { MetricValues } from '../metrics.ts';
import type { StorePlace, WriterLink } from '../store/store.ts';
import type { LimitMemory } from './limit-memory.ts';
import type { ListenSettings } from './listen.ts';

/** The input of a serving thread. */
export interface ServingThreadData {
	/** The number of the thread, from 1. */
	readonly number: number;
	readonly place: StorePlace;
	readonly settings: ListenSettings;
	readonly logLevel: LogLevel;
	readonly tls: Tls | undefined;
	readonly limits: LimitMemory;
	readonly link: WriterLink;
}

/** Calls from the main thread to a serving thread. */
export interface ServingThreadCalls {
	/** Returns the message of an OperatorError as `refused`, because the class of an error is lost between threads. */
	listen(
		port: number,
	): Promise<{ readonly url: string; readonly port: number } | { readonly refused: string }>;
	metrics(): Promise<MetricValues>;
	/** Resolves when all requests in flight are answered and everything is closed. */
	stop(): Promise<void>;
}

/** Calls from a serving thread to the main thread, which alone writes to the control database. */
export interface MainThreadCalls {
	lend(keyId: string, plan: UsagePlan): Promise<LentRequests>;
	report(): Promise<void>;
	probe(): Promise<void>;
	recordKeyUses(uses: readonly KeyUse[]): Promise<void>;
	/** Announces that visitors of these accounts may have changed. */
	visitorsChanged(accountIds: readonly number[]): void;
}

/** No timeout: `stop` takes as long as the drain delay and the last request. */
export const callTimeoutMs = -1;
