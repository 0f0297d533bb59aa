import { monthAt, type UsagePlan } from '../domain/usage-plan.ts';
import { LeasedRequests } from './leased-requests.ts';
import { isRunningOut, isUsedUp, type LentRequests, type Quota } from './quota.ts';

/** The thread that leases for all threads of a process; see `QuotaCounter`. */
export interface QuotaLender {
	lend(keyId: string, plan: UsagePlan): Promise<LentRequests>;
	report(): Promise<void>;
}

/**
 * Counts requests against quotas on one of several threads. What the process has leased is in memory that its threads
 * share, so that any of them may use all of it.
 */
export class LentQuota implements Quota {
	readonly #lender: QuotaLender;
	readonly #now: () => number;
	readonly #monotonicMs: () => number;
	/** Of one month, by key. */
	readonly #leased = new Map<string, LeasedRequests>();
	#month = '';
	readonly #asking = new Map<string, Promise<void>>();

	constructor(
		lender: QuotaLender,
		/** `now`: milliseconds since 1970; determines the month. */
		{ now, monotonicMs }: { now: () => number; monotonicMs: () => number },
	) {
		this.#lender = lender;
		this.#now = now;
		this.#monotonicMs = monotonicMs;
	}

	take(keyId: string, plan: UsagePlan): boolean | Promise<boolean> {
		const leased = this.#leasedOf(keyId);
		if (leased?.take()) {
			if (isRunningOut(leased) && !this.#isUsedUp(leased, plan))
				this.#ask(keyId, plan).catch(() => {
					// The request that needs the next lease reports the error.
				});
			return true;
		}
		if (leased && this.#isUsedUp(leased, plan)) return false;
		return this.#ask(keyId, plan).then(() => this.take(keyId, plan));
	}

	#isUsedUp(leased: LeasedRequests, plan: UsagePlan): boolean {
		return isUsedUp(leased, plan, this.#monotonicMs());
	}

	remaining(keyId: string, { quotaPerMonth }: UsagePlan): number {
		return this.#leasedOf(keyId)?.remainingOf(quotaPerMonth) ?? quotaPerMonth;
	}

	#leasedOf(keyId: string): LeasedRequests | undefined {
		const { name } = monthAt(this.#now());
		if (name !== this.#month) {
			this.#month = name;
			this.#leased.clear();
		}
		return this.#leased.get(keyId);
	}

	#ask(keyId: string, plan: UsagePlan): Promise<void> {
		let asking = this.#asking.get(keyId);
		if (!asking) {
			asking = this.#lender
				.lend(keyId, plan)
				.then(({ month, buffer }) => {
					if (month === this.#month && this.#leased.get(keyId)?.buffer !== buffer)
						this.#leased.set(keyId, new LeasedRequests(buffer));
				})
				.finally(() => this.#asking.delete(keyId));
			this.#asking.set(keyId, asking);
		}
		return asking;
	}

	report(): Promise<void> {
		return this.#lender.report();
	}
}
