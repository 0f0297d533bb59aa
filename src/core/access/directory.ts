import { timingSafeEqual } from 'node:crypto';
import { hashApiKey } from '../domain/api-key.ts';
import { compareTexts } from '../domain/compare-texts.ts';
import type { SigningKey } from '../domain/signing-key.ts';
import type { AccessSnapshot, ControlStore, KnownAccount, KnownKey } from '../store/control/control-store.ts';

/**
 * Changes made on the command line must take effect within a second. Polling takes half of that, less the time to read.
 */
const refreshEveryMs = 250;

/**
 * Keys, plans, accounts, signing keys, and what capabilities add, of the control database, cached in memory, so that admitting a request needs no
 * query. Polls the control database's revision. While the database cannot be read, the last known state applies.
 */
export class AccessDirectory {
	readonly #control: ControlStore;
	readonly #onError: (error: unknown) => void;
	#snapshot!: AccessSnapshot;
	#restrictsOrigins = false;
	#timer: NodeJS.Timeout | undefined;
	#refreshing: Promise<void> = Promise.resolve();
	/** Looks that have begun, and the one whose snapshot is used. */
	#begun = 0;
	#used = 0;

	private constructor(control: ControlStore, snapshot: AccessSnapshot, onError: (error: unknown) => void) {
		this.#control = control;
		this.#use(snapshot);
		this.#onError = onError;
		this.#refreshLater();
	}

	static async load(control: ControlStore, onError: (error: unknown) => void): Promise<AccessDirectory> {
		return new AccessDirectory(control, await control.accessSnapshot(), onError);
	}

	/** Looks up the key that a request presents; undefined where it is unknown or revoked. */
	key(presented: string | string[] | undefined): KnownKey | undefined {
		if (typeof presented !== 'string' || presented === '') return undefined;
		const hash = hashApiKey(presented);
		const known = this.#snapshot.keys.get(hash);
		// The look-up compared hashes, which reveals nothing about a key. This comparison takes constant time.
		return known && timingSafeEqual(Buffer.from(known.hash), Buffer.from(hash)) ? known : undefined;
	}

	/** Undefined where there is no such account, or it is disabled. */
	account(aid: string): KnownAccount | undefined {
		return this.#snapshot.accounts.get(aid);
	}

	/** All that are not disabled, by `aid`. */
	get accounts(): readonly KnownAccount[] {
		return [...this.#snapshot.accounts.values()].sort((a, b) => compareTexts(a.aid, b.aid));
	}

	/** Whether any account names the origins whose pages may read its answers. */
	get restrictsOrigins(): boolean {
		return this.#restrictsOrigins;
	}

	/** All that is known. */
	get snapshot(): AccessSnapshot {
		return this.#snapshot;
	}

	/** Counts the changes of the control database. */
	get revision(): number {
		return this.#snapshot.revision;
	}

	/** Of how many goals' models the observed rate is outside the predicted interval. */
	get levelsOutside(): number {
		let count = 0;
		for (const { models } of this.#snapshot.accounts.values())
			for (const { isOutside } of models) if (isOutside) count++;
		return count;
	}

	/** The keys that verify casks, newest first. */
	get signingKeys(): readonly SigningKey[] {
		return this.#snapshot.signingKeys;
	}

	/** The longest request timeout of any plan. */
	get maxTimeoutMs(): number {
		return Math.max(0, ...this.#snapshot.keys.values().map(({ plan }) => plan.timeoutMs));
	}

	/** Reads the control database if its revision has changed. */
	async refresh(): Promise<void> {
		const look = ++this.#begun;
		if ((await this.#control.revision()) === this.#snapshot.revision) return;
		const snapshot = await this.#control.accessSnapshot();
		// Of two looks at once, the one that has begun first may end last. Revisions do not tell: those of a database that was set back are lower.
		if (look < this.#used) return;
		this.#used = look;
		this.#use(snapshot);
	}

	#use(snapshot: AccessSnapshot): void {
		this.#snapshot = snapshot;
		this.#restrictsOrigins = snapshot.accounts.values().some(({ origins }) => origins.length > 0);
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

	/** Resolves when polling has ended. */
	async stop(): Promise<void> {
		clearTimeout(this.#timer);
		this.#timer = undefined;
		await this.#refreshing;
	}
}
