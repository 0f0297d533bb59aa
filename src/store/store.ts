import type { Deadline } from '../deadline.ts';
import type { CaskScope } from '../domain/cask-scope.ts';
import type { ArrivingHit, StoredHit } from '../domain/hit.ts';
import type { Profile } from '../domain/profile.ts';
import type { QuotaHolding, QuotaSettlement } from '../domain/quota-lease.ts';
import type { Arrival, SubscriptionEvent } from '../domain/subscription-event.ts';
import type { UsagePlan } from '../domain/usage-plan.ts';
import type { ClientReader } from './account/account-reader.ts';
import type { Receipt } from './account/receipts.ts';
import type { ControlStore } from './control/control-store.ts';
import type { CopyTarget } from './copy-target.ts';
import type { Steps } from './steps.ts';

export interface Upload extends Arrival {
	readonly events: readonly SubscriptionEvent[];
	/** Do all of it, then undo it. */
	readonly simulate: boolean;
}

/** What became of an upload. A row is an event's place in it, from 0. */
export interface UploadOutcome {
	/** Events that were new; the others are duplicates. */
	readonly stored: number;
	/** Events whose `tid` was stored before, or comes earlier in the upload. */
	readonly duplicateRows: readonly number[];
	/** Those of them that have other content than what is stored. */
	readonly conflictingRows: readonly number[];
}

/** Where the buckets of all servers are. */
export interface TokenLedger {
	/** Takes up to `wanted` tokens at once. `tokens` is what is left, and may be a fraction. */
	takeTokens(keyId: string, plan: UsagePlan, wanted: number): Promise<{ granted: number; tokens: number }>;
}

/** What a serving process writes. Every method answers only when its outcome is durable. */
export interface ServingWriter {
	/**
	 * Stores an upload in one account's database, all of it or nothing.
	 * @returns `expired` where the deadline was decided first
	 * @throws QueueFullError, StorageError
	 */
	storeSubscriptionEvents(
		accountId: number,
		upload: Upload,
		deadline: Deadline,
	): Promise<UploadOutcome | 'expired'>;
	/** Stores a hit, durably, with all that follows from it. @throws QueueFullError, StorageError */
	storeHit(accountId: number, hit: ArrivingHit): Promise<StoredHit>;
	/** The buckets that all servers share; absent where one server has the store for itself. */
	readonly tokens?: TokenLedger;
	/**
	 * Leases requests of quotas, and tells what was admitted. May be repeated until there is an answer.
	 * @returns what this server holds of each; null where its leases are not known any more
	 */
	settleQuotas(settlements: readonly QuotaSettlement[]): Promise<(QuotaHolding | null)[]>;
	/** Resolves when a real write has succeeded. */
	probe(): Promise<void>;
	/** Requests that wait for the store. */
	readonly queueDepth: number;
	/** Finishes what waits, closes everything. */
	stop(): Promise<void>;
}

export interface NumberedProfile {
	/** Its place in the order of arrival. */
	readonly id: number;
	readonly profile: Profile;
}

/** What a serving process reads: look-ups by an index. */
export interface ServingReader {
	/** As of its last hit or event; null where there is no such visitor. */
	visitor(accountId: number, vid: string): Profile | null | Promise<Profile | null>;
	visit(accountId: number, sid: string): Profile | null | Promise<Profile | null>;
	/** Visitors, or visits, from before a place in the order of arrival, the latest first. */
	latest(
		accountId: number,
		scope: CaskScope,
		page: { beforeId: number; limit: number },
	): NumberedProfile[] | Promise<NumberedProfile[]>;
	/** What is stored with some `tid`s, in no order. */
	receipts(accountId: number, tids: readonly string[]): Receipt[] | Promise<Receipt[]>;
	close(): Promise<void>;
}

export interface WriterEvents {
	readonly onCommit: (group: { size: number; seconds: number }) => void;
	/** A write failed; `reason` is for logs, not for answers. */
	readonly onError: (database: string, reason: string) => void;
	/** Something waits for the background in an account, see `folding.ts`. */
	readonly onWaiting: (accountId: number) => void;
	/** Nothing can be stored any more until the process is started anew. */
	readonly onDeath: (error: Error) => void;
}

export interface MigrationProgress {
	readonly database: string;
	/** That it has got; 0 where it had the newest schema already. */
	readonly migrations: number;
	/** Of all databases. */
	readonly done: number;
	readonly total: number;
}

/** One stage's databases. */
export interface Store {
	readonly control: ControlStore;
	/** Milliseconds since 1970, by the one clock of all who use the store. */
	readonly now: () => number;
	/** Whether several processes may serve it at once; a data folder has one writer. */
	readonly takesManyServers: boolean;
	/** Reads one account's database; the only way to it. */
	read<T>(accountId: number, fn: (reader: ClientReader) => Promise<T>): Promise<T>;
	/** Runs steps in one transaction in an account's database; beside a serving process, if one runs. */
	transact<T>(accountId: number, steps: Steps<T>): Promise<T>;
	/**
	 * Takes what has been deleted in an account's database off the disk too, as far as the engine can.
	 * @param options.rewrite of a small database nothing is left at all; nobody can write to it meanwhile
	 * @throws OperatorError where others keep it from that
	 */
	purge(accountId: number, options: { rewrite: boolean }): Promise<void>;
	/** Runs steps that only read, as of one moment; nobody waits for them. */
	look<T>(accountId: number, steps: Steps<T>): Promise<T>;
	/** How much waits for the background in an account, at most some thousands; does not bring it to the newest schema. */
	waiting(accountId: number): Promise<number>;
	/** Opens what a serving process reads. */
	startReading(): ServingReader;
	/**
	 * Makes the database of a new account.
	 * @param ownDatabase the address of a database server of its own
	 * @throws OperatorError where that cannot be used
	 */
	createAccountDatabase(accountId: number, ownDatabase?: string): Promise<void>;
	/** Takes the store for serving. @throws OperatorError where another server has it */
	startWriting(events: WriterEvents): Promise<ServingWriter>;
	/** Brings every database to the newest schema, each in a transaction of its own; others are in use meanwhile. */
	migrate(progress: (step: MigrationProgress) => void): Promise<void>;
	/** Writes a consistent copy of every database into a new folder, while servers go on. */
	backup(folder: string, progress: (step: { database: string; bytes: number }) => void): Promise<void>;
	/** Looks at everything that can be wrong. */
	runChecks(): AsyncIterable<Check>;
	/**
	 * Keeps servers away while its content is copied; on engines that cannot, the copy finds out at its end.
	 * @returns a function that lets them in again
	 * @throws OperatorError where a server runs
	 */
	keepServersAway(): () => void;
	/** Prepares to take over another store's content. @throws OperatorError where something else uses the store */
	copyTarget(): Promise<CopyTarget>;
	close(): Promise<void>;
}

export interface Check {
	readonly check: string;
	readonly ok: boolean;
	readonly detail: string;
}
