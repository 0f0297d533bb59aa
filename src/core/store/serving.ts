import type { Deadline } from '../deadline.ts';
import type { CaskScope } from '../domain/cask-scope.ts';
import type { Participant } from '../domain/ownership.ts';
import type { Profile } from '../domain/profile.ts';
import type { QuotaHolding, QuotaSettlement } from '../domain/quota-lease.ts';
import type { ArrivingHit, StoredHit } from '../domain/stored-hit.ts';
import type { Arrival, UploadedEvent } from '../domain/subscription-event.ts';
import type { UsagePlan } from '../domain/usage-plan.ts';
import type { UploadOutcome } from './account/arriving/arriving-events.ts';
import type { Receipt } from './account/reading/stored-receipts.ts';
import type { RequestCounts } from './control/control-store.ts';

export interface Upload extends Arrival {
	readonly events: readonly UploadedEvent[];
	/** Do everything, then roll back. */
	readonly simulate: boolean;
	/** Whether conflicts are kept for somebody who tells of them. */
	readonly keepsConflicts?: boolean;
}

/** Holds the token buckets that all servers share. */
export interface TokenLedger {
	/** Takes up to `wanted` tokens at once. `tokens` is what is left; it may be fractional. */
	takeTokens(keyId: string, plan: UsagePlan, wanted: number): Promise<{ granted: number; tokens: number }>;
}

export interface LogsState {
	/** The bytes of the longest. */
	readonly longestBytes: number;
	/** The longest time for which a reader has kept one from being copied; 0 where none does. */
	readonly heldSeconds: number;
}

/** What the thread that answers requests writes with. Every method resolves only when its outcome is durable. */
export interface RequestWriter {
	/**
	 * Stores an upload in one account's database, all of it or nothing.
	 * @returns `expired` where the deadline won the decision
	 * @throws QueueFullError, StorageError
	 */
	storeSubscriptionEvents(
		accountId: number,
		upload: Upload,
		deadline: Deadline,
	): Promise<UploadOutcome | 'expired'>;
	/**
	 * Stores a hit durably, with everything that derives from it.
	 * @throws QueueFullError, StorageError
	 */
	storeHit(accountId: number, hit: ArrivingHit): Promise<StoredHit>;
	/** The shared token buckets; absent where only one server can use the store. */
	readonly tokens?: TokenLedger;
	/** Performs a real write, and resolves when it succeeds. */
	probe(): Promise<void>;
	/** Number of requests waiting for the store. */
	readonly queueDepth: number;
	/** The write-ahead logs of a data folder. */
	readonly logs?: LogsState;
	/** Records what was counted of requests. */
	recordCounts(counts: RequestCounts): Promise<void>;
}

/** The writes of a serving process. Every method resolves only when its outcome is durable. */
export interface ServingWriter extends RequestWriter {
	/**
	 * Leases quota and reports usage. May be repeated until it is answered.
	 * @returns what this server holds of each; null where its leases are no longer known
	 */
	settleQuotas(settlements: readonly QuotaSettlement[]): Promise<(QuotaHolding | null)[]>;
	/** Tells commands where the server and its console are. */
	announce(url: string, consoleUrl?: string): Promise<void>;
	/** Finishes the waiting requests and closes everything. */
	stop(): Promise<void>;
}

export interface NumberedProfile {
	/** Its position in the order of arrival. */
	readonly id: number;
	readonly profile: Profile;
}

/** The reads of a serving process: index look-ups. */
export interface ServingReader {
	/** The profile as of the last hit or event; null where there is no such visitor. */
	visitor(accountId: number, vid: string): Profile | null | Promise<Profile | null>;
	visit(accountId: number, sid: string): Profile | null | Promise<Profile | null>;
	/**
	 * A visitor, or the visitor of a visit, with the customer that it has shown first. Null for a visitor who has shown none, and
	 * for an unknown visit.
	 */
	participant(
		accountId: number,
		scope: CaskScope,
		subject: string,
	): Participant | null | Promise<Participant | null>;
	/** Visitors or visits before a position in the order of arrival, latest first. */
	latest(
		accountId: number,
		scope: CaskScope,
		page: { beforeId: number; limit: number },
	): NumberedProfile[] | Promise<NumberedProfile[]>;
	/**
	 * Runs synchronous reads that may share one snapshot of an account, which costs less. The snapshot has everything that was
	 * stored before the call.
	 */
	inOneState(readAll: () => void): void;
	/** The stored events with these `tid`s, in no particular order. */
	receipts(accountId: number, tids: readonly string[]): Receipt[] | Promise<Receipt[]>;
	close(): Promise<void>;
}

export interface WriterEvents {
	readonly onCommit: (group: { size: number; seconds: number }) => void;
	/** A write failed; `reason` is for logs, not for answers. */
	readonly onError: (database: string, reason: string) => void;
	/** The operator should know this of a database, which works. */
	readonly onNotice: (database: string, notice: string) => void;
	/** An account has background work; see `folding.ts`. */
	readonly onWaiting: (accountId: number) => void;
	/** Nothing can be stored until the process is restarted. */
	readonly onDeath: (error: Error) => void;
}

/** The reads of pages, which scores compare visitors by, too. */
export interface PageReads {
	startReading(): ServingReader;
}

/** What a process that serves takes of a store. */
export interface ServingStore extends PageReads {
	/** Whether several processes may serve it at once. A data folder has one writer. */
	readonly takesManyServers: boolean;
	/**
	 * Opens the store for serving.
	 * @throws OperatorError where another server holds it
	 */
	startWriting(events: WriterEvents): Promise<ServingWriter>;
}
