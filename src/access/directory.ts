import { timingSafeEqual } from 'node:crypto';
import { hashApiKey } from '../domain/api-key.ts';
import type { SigningKey } from '../domain/signing-key.ts';
import type { UsagePlan } from '../domain/usage-plan.ts';
import type { AccessSnapshot, ControlStore, KnownAccount } from '../store/control/control-store.ts';

/** Half of the second within which a change by the command line must be seen, less the time to read it. */
const refreshEveryMs = 250;

/** An API key that may be used. */
export interface KnownKey {
	readonly id: string;
	readonly clientId: number;
	readonly plan: UsagePlan;
}

/**
 * The keys, plans, accounts and signing keys of the control database, in memory: a request is admitted or refused
 * without a query. Follows the control database's revision; while that cannot be read, the last known state holds.
 */
export class AccessDirectory {
	readonly #control: ControlStore;
	readonly #onError: (error: unknown) => void;
	#snapshot: AccessSnapshot;
	#timer: NodeJS.Timeout | undefined;
	#refreshing: Promise<void> = Promise.resolve();

	private constructor(control: ControlStore, snapshot: AccessSnapshot, onError: (error: unknown) => void) {
		this.#control = control;
		this.#snapshot = snapshot;
		this.#onError = onError;
		this.#refreshLater();
	}

	static async load(control: ControlStore, onError: (error: unknown) => void): Promise<AccessDirectory> {
		return new AccessDirectory(control, await control.accessSnapshot(), onError);
	}

	/** The key that a request presents, if it is known and not revoked. */
	key(presented: string | string[] | undefined): KnownKey | undefined {
		if (typeof presented !== 'string' || presented === '') return undefined;
		const hash = hashApiKey(presented);
		const known = this.#snapshot.keys.get(hash);
		// The map has compared hashes, which tells nothing about a key; this comparison takes the same time for all.
		return known && timingSafeEqual(Buffer.from(known.hash), Buffer.from(hash)) ? known : undefined;
	}

	/** The account's number, where the client may write to it. */
	accountId(aid: string, clientId: number): number | undefined {
		const account = this.#snapshot.accounts.get(aid);
		return account?.clientId === clientId ? account.id : undefined;
	}

	/** The account, where there is one and it is not disabled. */
	account(aid: string): KnownAccount | undefined {
		return this.#snapshot.accounts.get(aid);
	}

	/** Those that may verify casks, the newest first. */
	get signingKeys(): readonly SigningKey[] {
		return this.#snapshot.signingKeys;
	}

	/** The longest that any key's request may take. */
	get longestTimeoutMs(): number {
		return Math.max(0, ...this.#snapshot.keys.values().map(({ plan }) => plan.timeoutMs));
	}

	/** Reads the control database now, if it has changed. */
	async refresh(): Promise<void> {
		if ((await this.#control.revision()) !== this.#snapshot.revision)
			this.#snapshot = await this.#control.accessSnapshot();
	}

	#refreshLater(): void {
		this.#timer = setTimeout(() => {
			this.#refreshing = this.refresh()
				.catch(this.#onError)
				.then(() => {
					if (this.#timer) this.#refreshLater();
				});
		}, refreshEveryMs);
		this.#timer.unref();
	}

	/** Resolves when the control database is not read any more. */
	async stop(): Promise<void> {
		clearTimeout(this.#timer);
		this.#timer = undefined;
		await this.#refreshing;
	}
}
