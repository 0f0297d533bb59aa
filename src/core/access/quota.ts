import type { QuotaHolding, QuotaSettlement } from '../domain/quota-lease.ts';
import { type Month, monthAt, type UsagePlan } from '../domain/usage-plan.ts';

/**
 * Leases the next block when this many requests are left, so that none has to wait. A crash forfeits at most this and one
 * block.
 */
const leaseAgainBelow = 25;
/** A used-up quota is checked again after this time, because another server may have returned part of its lease. */
const recheckMs = 1000;
const reportEveryMs = 200;
/** Attempts to report while stopping; more than one is needed after a lost answer. */
const maxReports = 3;

/** Leases quota to servers, across all of them. */
export interface QuotaLedger {
	settleQuotas(settlements: readonly QuotaSettlement[]): Promise<(QuotaHolding | null)[]>;
}

/** What decides on requests by a key's quota. */
export interface Quota {
	/**
	 * Takes one request from the key's quota.
	 * @returns whether one was left; a promise only where a lease must be awaited. It rejects where the control database
	 * fails.
	 */
	take(keyId: string, plan: UsagePlan): boolean | Promise<boolean>;
	/** The rest of the key's quota this month, to this server's knowledge. */
	remaining(keyId: string, plan: UsagePlan): number;
	/** Reports usage to the ledger. */
	report(): Promise<void>;
}

/** This server's share of a key's month. It has admitted `used` requests and may admit up to `leased`. */
class Share {
	readonly keyId: string;
	readonly month: Month;
	leased = 0;
	used = 0;
	/** The part of `used` that the ledger knows. */
	reported = 0;
	/** What all servers have leased of the quota, as the ledger said last. */
	leasedByAll = 0;
	/** Monotonic time at which the last lease was answered. */
	askedAtMs = Number.NEGATIVE_INFINITY;
	/** Sequence number of the last settlement that was answered. */
	seq = 0;
	/** A lease or return was never answered, so the ledger may disagree with this server. */
	isUnsure = false;
	/** The lease or return in flight; one at a time. */
	settling: Promise<void> | undefined;

	constructor(keyId: string, month: Month) {
		this.keyId = keyId;
		this.month = month;
	}

	/** Requests that may still be admitted. */
	get left(): number {
		return this.leased - this.used;
	}

	/** From now on, nothing of the lease may be admitted, whether or not its return succeeds. */
	withdraw(): void {
		this.leased = this.used;
	}

	accept({ seq, leased, used, leasedByAll }: QuotaHolding): void {
		// A stale answer, overtaken by a later one.
		if (seq < this.seq) return;
		// This server used some of that month before it dropped the share.
		if (this.seq === 0) this.used += used;
		this.leased = leased;
		this.leasedByAll = leasedByAll;
		this.seq = seq;
		this.reported = Math.max(this.reported, used);
		this.isUnsure = false;
	}
}

/**
 * Counts each key's requests against its monthly quota. A server admits only requests that it has leased from the control
 * database, in blocks, and only in the month of the lease. The quota therefore holds across servers, crashes and clock
 * changes, and most requests need no query.
 */
export class QuotaCounter implements Quota {
	readonly #ledger: QuotaLedger;
	readonly #now: () => number;
	readonly #monotonicMs: () => number;
	readonly #onError: (error: unknown) => void;
	/** By month, then by key. Shares of other months stay only until they are settled. */
	readonly #months = new Map<string, Map<string, Share>>();
	#reporting: Promise<unknown> = Promise.resolve();
	#isReporting = false;
	readonly #timer: NodeJS.Timeout;

	constructor(
		ledger: QuotaLedger,
		options: {
			/** Milliseconds since 1970; determines the month. */
			now: () => number;
			monotonicMs: () => number;
			onError: (error: unknown) => void;
		},
	) {
		this.#ledger = ledger;
		this.#now = options.now;
		this.#monotonicMs = options.monotonicMs;
		this.#onError = options.onError;
		this.#timer = setInterval(() => {
			// Reports must not queue up while the ledger is slow or unavailable.
			if (this.#isReporting) return;
			this.#isReporting = true;
			void this.report().finally(() => {
				this.#isReporting = false;
			});
		}, reportEveryMs).unref();
	}

	take(keyId: string, plan: UsagePlan): boolean | Promise<boolean> {
		const share = this.#share(keyId, monthAt(this.#now()));
		if (share.left > 0) {
			share.used++;
			if (share.left < leaseAgainBelow && !this.#isUsedUp(share, plan))
				this.#lease(share, plan).catch(() => {
					// The request that needs the next lease reports the error.
				});
			return true;
		}
		if (this.#isUsedUp(share, plan)) return false;
		return this.#lease(share, plan).then(() => this.take(keyId, plan));
	}

	/** Whether there was nothing left to lease, a moment ago. A quota that was raised is leased from at once. */
	#isUsedUp({ leasedByAll, askedAtMs }: Share, { quotaPerMonth }: UsagePlan): boolean {
		return leasedByAll >= quotaPerMonth && this.#monotonicMs() - askedAtMs < recheckMs;
	}

	remaining(keyId: string, { quotaPerMonth }: UsagePlan): number {
		const share = this.#months.get(monthAt(this.#now()).name)?.get(keyId);
		return share ? Math.max(0, quotaPerMonth - share.leasedByAll + share.left) : quotaPerMonth;
	}

	#share(keyId: string, month: Month): Share {
		const shares = this.#months.getOrInsertComputed(month.name, () => new Map<string, Share>());
		return shares.getOrInsertComputed(keyId, () => new Share(keyId, month));
	}

	/** Resolves when `take` should be tried again. */
	#lease(share: Share, { quotaPerMonth }: UsagePlan): Promise<void> {
		share.settling ??= this.#settle([settlementOf(share, { kind: 'lease', quotaPerMonth })], [share])
			.then(() => {
				share.askedAtMs = this.#monotonicMs();
			})
			.finally(() => {
				share.settling = undefined;
			});
		return share.settling;
	}

	async #settle(settlements: readonly QuotaSettlement[], shares: readonly Share[]): Promise<void> {
		const holdings = await this.#ledger.settleQuotas(settlements).catch((error) => {
			for (const [index, share] of shares.entries())
				if (settlements[index]?.ask.kind !== 'nothing') share.isUnsure = true;
			throw error;
		});
		for (const [index, share] of shares.entries()) {
			const holding = holdings[index];
			if (holding) share.accept(holding);
			// The ledger took this server for dead: start again, and forfeit the rest of the lease.
			else this.#forget(share);
		}
	}

	#forget(share: Share): void {
		const { keyId, month } = share;
		const shares = this.#months.get(month.name);
		shares?.delete(keyId);
		if (shares?.size === 0) this.#months.delete(month.name);
	}

	/** Reports usage to the ledger, and returns what is left of past months. */
	async report(): Promise<void> {
		await this.#report(false);
	}

	/** @returns whether nothing was left to report, or the ledger failed */
	#report(isEnd: boolean): Promise<boolean> {
		const reporting = this.#reporting.then(() => {
			const { shares, settlements } = this.#unreported(isEnd);
			return shares.length === 0 || this.#tell(settlements, shares);
		});
		this.#reporting = reporting;
		return reporting;
	}

	/** Collects what the ledger does not know yet, and drops past months of which it knows everything. */
	#unreported(isEnd: boolean): { shares: Share[]; settlements: QuotaSettlement[] } {
		const { name: present } = monthAt(this.#now());
		const shares: Share[] = [];
		const settlements: QuotaSettlement[] = [];
		for (const share of this.#shares()) {
			// The lease in flight reports usage as well.
			if (share.settling) continue;
			const isOver = isEnd || share.month.name !== present;
			const isReturning = isOver && (share.left > 0 || share.isUnsure);
			if (isReturning) share.withdraw();
			if (isReturning || share.reported < share.used) {
				shares.push(share);
				settlements.push(settlementOf(share, { kind: isReturning ? 'return' : 'nothing' }));
			} else if (isOver) this.#forget(share);
		}
		return { shares, settlements };
	}

	/** @returns whether the ledger failed */
	async #tell(settlements: readonly QuotaSettlement[], shares: readonly Share[]): Promise<boolean> {
		const returning = shares.filter((_, index) => settlements[index]?.ask.kind === 'return');
		const settling = this.#settle(settlements, shares);
		const settled = settling.then(
			() => false,
			(error) => {
				this.#onError(error);
				return true;
			},
		);
		for (const share of returning) share.settling = settled.then(() => {});
		await settled;
		for (const share of returning) share.settling = undefined;
		return settled;
	}

	#shares(): Share[] {
		return [...this.#months.values()].flatMap((shares) => [...shares.values()]);
	}

	/** To be called once no more requests are admitted. */
	async stop(): Promise<void> {
		clearInterval(this.#timer);
		await Promise.allSettled(this.#shares().map(({ settling }) => settling));
		for (let reports = 0; reports < maxReports; reports++) if (await this.#report(true)) return;
	}
}

function settlementOf({ keyId, month, used, seq }: Share, ask: QuotaSettlement['ask']): QuotaSettlement {
	return { keyId, month: month.name, used, seq: seq + 1, ask };
}
