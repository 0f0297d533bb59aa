import type { QuotaHolding, QuotaSettlement } from '../domain/quota-lease.ts';
import { type Month, monthAt, type UsagePlan } from '../domain/usage-plan.ts';

/** A new block is leased when so few are left, so that nobody waits for it; with a block, the most a crash forfeits. */
const leaseAgainBelow = 25;
/** A used-up quota is looked at again after this: another server may have given back. */
const lookAgainMs = 1000;
const reportEveryMs = 200;
/** While stopping; more than one is needed where an answer was lost before. */
const maxReports = 3;

/** Where quotas are kept. */
export interface QuotaLedger {
	settleQuotas(settlements: readonly QuotaSettlement[]): Promise<(QuotaHolding | null)[]>;
}

/** What this server holds of a key's month: it has admitted `used`, and may admit until that is `leased`. */
interface Share {
	readonly keyId: string;
	readonly month: Month;
	leased: number;
	used: number;
	/** Of `used`, what the ledger knows. */
	reported: number;
	/** Of the last lease or return whose answer came. */
	seq: number;
	leasedByAll: number;
	/** When the last lease was answered, by the monotonic clock. */
	askedAtMs: number;
	/** Whether a lease or return was asked for and never answered, so that the ledger may say otherwise. */
	isUnsure: boolean;
	/** A lease or return is under way: one at a time. */
	settling: Promise<void> | undefined;
}

/**
 * Counts the requests of each key against its monthly quota. A server may admit only what it has leased, in blocks,
 * from the control database, and only in the month for which it was leased. So the quota holds across servers, crashes
 * and steps of the clock, and most requests need no query.
 */
export class QuotaCounter {
	readonly #ledger: QuotaLedger;
	readonly #now: () => number;
	readonly #monotonicMs: () => number;
	readonly #onError: (error: unknown) => void;
	/** By month, then by key. Of months other than the present one only those that are not settled. */
	readonly #months = new Map<string, Map<string, Share>>();
	#reporting: Promise<unknown> = Promise.resolve();
	#isReporting = false;
	readonly #timer: NodeJS.Timeout;

	constructor(
		ledger: QuotaLedger,
		options: {
			/** Milliseconds since 1970; decides the month. */
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
			// While the ledger is slow or away, reports must not queue up: each would take as long as the one before.
			if (this.#isReporting) return;
			this.#isReporting = true;
			void this.report().finally(() => {
				this.#isReporting = false;
			});
		}, reportEveryMs).unref();
	}

	/**
	 * Takes one request off the key's quota.
	 * @returns whether there was one; a promise only where a lease must be waited for, which rejects where the
	 * control database fails
	 */
	take(keyId: string, plan: UsagePlan): boolean | Promise<boolean> {
		const share = this.#share(keyId, monthAt(this.#now()));
		if (share.used < share.leased) {
			share.used++;
			if (share.leased - share.used < leaseAgainBelow && !this.#isUsedUp(share, plan))
				this.#lease(share, plan).catch(() => {
					// Whoever needs the next lease meets the problem itself.
				});
			return true;
		}
		if (this.#isUsedUp(share, plan)) return false;
		return this.#lease(share, plan).then(() => this.take(keyId, plan));
	}

	/** As far as this server knows; a larger quota is asked for at once. */
	#isUsedUp({ leasedByAll, askedAtMs }: Share, { quotaPerMonth }: UsagePlan): boolean {
		return leasedByAll >= quotaPerMonth && this.#monotonicMs() - askedAtMs < lookAgainMs;
	}

	/** What is left of the key's quota this month, as far as this server knows. */
	remaining(keyId: string, plan: UsagePlan): number {
		const share = this.#months.get(monthAt(this.#now()).name)?.get(keyId);
		return Math.max(0, plan.quotaPerMonth - (share ? share.leasedByAll - share.leased + share.used : 0));
	}

	#share(keyId: string, month: Month): Share {
		let shares = this.#months.get(month.name);
		if (!shares) {
			shares = new Map();
			this.#months.set(month.name, shares);
		}
		let share = shares.get(keyId);
		if (!share) {
			share = {
				...{ keyId, month, leased: 0, used: 0, reported: 0, seq: 0, leasedByAll: 0 },
				askedAtMs: Number.NEGATIVE_INFINITY,
				isUnsure: false,
				settling: undefined,
			};
			shares.set(keyId, share);
		}
		return share;
	}

	/** Resolves when it is worth trying again. */
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
			if (holding) accept(share, holding);
			// Taken for dead, it begins anew; what it had in hand is forfeited.
			else this.#forget(share);
		}
	}

	#forget({ keyId, month }: Share): void {
		const shares = this.#months.get(month.name);
		shares?.delete(keyId);
		if (shares?.size === 0) this.#months.delete(month.name);
	}

	/** Tells the ledger what was admitted, and gives back what is left of other months. */
	async report(): Promise<void> {
		await this.#report(false);
	}

	/** @returns whether there was nothing more to tell, or the ledger has failed */
	#report(isEnd: boolean): Promise<boolean> {
		const reporting = this.#reporting.then(() => {
			const { shares, settlements } = this.#news(isEnd);
			return shares.length === 0 || this.#tell(settlements, shares);
		});
		this.#reporting = reporting;
		return reporting;
	}

	/** What the ledger does not know yet. What of a month that is over it knows all of is forgotten here. */
	#news(isEnd: boolean): { shares: Share[]; settlements: QuotaSettlement[] } {
		const { name: present } = monthAt(this.#now());
		const shares: Share[] = [];
		const settlements: QuotaSettlement[] = [];
		for (const share of this.#shares()) {
			// A lease tells what was admitted, too.
			if (share.settling) continue;
			const isOver = isEnd || share.month.name !== present;
			const isReturning = isOver && (share.used < share.leased || share.isUnsure);
			if (isReturning || share.reported < share.used) {
				shares.push(share);
				settlements.push(settlementOf(share, { kind: isReturning ? 'return' : 'nothing' }));
			} else if (isOver) this.#forget(share);
		}
		return { shares, settlements };
	}

	/** @returns whether the ledger has failed */
	async #tell(settlements: readonly QuotaSettlement[], shares: readonly Share[]): Promise<boolean> {
		const returning = shares.filter((_, index) => settlements[index]?.ask.kind === 'return');
		// Nothing of it may be admitted any more, whatever becomes of the return.
		for (const share of returning) share.leased = share.used;
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

	/** To be called when nothing is admitted any more. */
	async stop(): Promise<void> {
		clearInterval(this.#timer);
		await Promise.allSettled(this.#shares().map(({ settling }) => settling));
		for (let reports = 0; reports < maxReports; reports++) if (await this.#report(true)) return;
	}
}

function settlementOf({ keyId, month, used, seq }: Share, ask: QuotaSettlement['ask']): QuotaSettlement {
	return { keyId, month: month.name, used, seq: seq + 1, ask };
}

function accept(share: Share, { seq, leased, used, leasedByAll }: QuotaHolding): void {
	// The answer to what was asked before the last answer.
	if (seq < share.seq) return;
	// This server has held some of that month before, and forgotten it since.
	if (share.seq === 0) share.used = Math.max(share.used, used);
	share.seq = seq;
	share.leased = leased;
	share.reported = Math.max(share.reported, used);
	share.leasedByAll = leasedByAll;
	share.isUnsure = false;
}
