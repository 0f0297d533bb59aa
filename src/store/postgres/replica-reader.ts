import type { CaskScope } from '../../domain/cask-scope.ts';
import type { Profile } from '../../domain/profile.ts';
import { QueueFullError } from '../../errors.ts';
import type { Receipt } from '../account/receipts.ts';
import type { NumberedProfile, ServingReader } from '../store.ts';
import type { ReadReplica } from './read-replica.ts';

/**
 * Reads for pages that may lag behind: from the replica, if it is up to date and has the account, else from the primary.
 * Casks that were revoked open nothing on either: those are known from the primary.
 */
export class ReplicaReader implements ServingReader {
	readonly current: ServingReader;
	readonly #replica: ReadReplica;
	readonly #lagging: ServingReader;
	readonly #hasAccount: (accountId: number) => boolean;

	constructor(options: {
		replica: ReadReplica;
		/** Reads from the replica. */
		lagging: ServingReader;
		/** Reads from the primary. */
		current: ServingReader;
		hasAccount: (accountId: number) => boolean;
	}) {
		this.current = options.current;
		this.#replica = options.replica;
		this.#lagging = options.lagging;
		this.#hasAccount = options.hasAccount;
	}

	/** Of whom the replica knows nothing, it may not know yet. */
	async visitor(accountId: number, vid: string): Promise<Profile | null> {
		const known = await this.#read(accountId, (reader) => reader.visitor(accountId, vid));
		return known ?? this.current.visitor(accountId, vid);
	}

	async visit(accountId: number, sid: string): Promise<Profile | null> {
		const known = await this.#read(accountId, (reader) => reader.visit(accountId, sid));
		return known ?? this.current.visit(accountId, sid);
	}

	latest(
		accountId: number,
		scope: CaskScope,
		page: { beforeId: number; limit: number },
	): Promise<NumberedProfile[]> {
		return this.#read(accountId, (reader) => reader.latest(accountId, scope, page));
	}

	inOneState(readAll: () => void): void {
		readAll();
	}

	/** Who asks has uploaded a moment ago. */
	receipts(accountId: number, tids: readonly string[]): Receipt[] | Promise<Receipt[]> {
		return this.current.receipts(accountId, tids);
	}

	async #read<Answer>(
		accountId: number,
		read: (reader: ServingReader) => Answer | Promise<Answer>,
	): Promise<Answer> {
		if (!this.#replica.isUsed || !this.#hasAccount(accountId)) return read(this.current);
		try {
			return await read(this.#lagging);
		} catch (error) {
			if (error instanceof QueueFullError) throw error;
			this.#replica.failed(error);
			return read(this.current);
		}
	}

	async close(): Promise<void> {
		await Promise.all([this.#lagging.close(), this.current.close()]);
	}
}
