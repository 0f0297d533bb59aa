import type { LentRequests } from '../access/quota.ts';
import type { UsagePlan } from '../domain/usage-plan.ts';
import type { Tls } from '../http/tls.ts';
import type { LogLevel } from '../log.ts';
import type { MetricValues } from '../metrics.ts';
import type { StorePlace, WriterLink } from '../store/store.ts';
import type { LimitMemory } from './limit-memory.ts';
import type { ListenSettings } from './listen.ts';

/** What a serving thread begins with. */
export interface ServingThreadData {
	/** From 1. */
	readonly number: number;
	readonly place: StorePlace;
	readonly settings: ListenSettings;
	readonly logLevel: LogLevel;
	readonly tls: Tls | undefined;
	readonly limits: LimitMemory;
	readonly link: WriterLink;
}

/** What the main thread asks of a serving thread. */
export interface ServingThreadCalls {
	/** Of what an operator can mend, only the sentence is returned: the kind of an error does not cross threads. */
	listen(
		port: number,
	): Promise<{ readonly url: string; readonly port: number } | { readonly refused: string }>;
	metrics(): Promise<MetricValues>;
	/** Resolves when every request in flight is answered, and everything is closed. */
	stop(): Promise<void>;
}

/** What a serving thread asks of the main thread, which alone writes to the control database. */
export interface MainThreadCalls {
	lend(keyId: string, plan: UsagePlan): Promise<LentRequests>;
	report(): Promise<void>;
	probe(): Promise<void>;
	/** Visitors of an account with webhooks may have changed. */
	visitorsChanged(accountIds: readonly number[]): void;
}

/** Some calls take as long as the longest drain delay. */
export const callTimeoutMs = -1;
