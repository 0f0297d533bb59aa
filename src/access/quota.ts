import type { QuotaLease, UsageReport } from '../store/store.ts';
import { type Month, monthAt, type UsagePlan } from './usage-plan.ts';

/** The largest block that is leased at once. */
export const largestLease = 75;
/** A new block is leased when so few are left, so that nobody waits for it; with a block, the most a crash forfeits. */
const leaseAgainBelow = 25;
/** A used-up quota is looked at again after this: the plan may have changed, another server may have given back. */
const lookAgainMs = 1000;
const reportEveryMs = 200;

/** Where quotas are kept. */
export interface QuotaLedger {
	leaseQuota(keyId: string, month: string, plan: UsagePlan): Promise<QuotaLease>;
	recordUsage(reports: readonly UsageReport[]): Promise<void>;
}

interface KeyQuota {
	readonly month: Month;
	/** Of the leased requests, how many may still be admitted. */
	inHand: number;
	/** Leased of the month's quota by all servers, as of the last lease. */
	leased: number;
	/** Admitted and not yet reported. */
	unreported: number;
	usedUpUntilMs: number;
	leasing: Promise<void> | undefined;
}

/**
 * Counts the requests of each key against its monthly quota. A server may admit only what it has leased, in blocks,
 * from the control database, so the quota holds across servers and crashes, and most requests need no query.
 */
export class QuotaCounter {
	readonly #ledger: QuotaLedger;
	readonly #now: () => number;
	readonly #onTrouble: (error: unknown) => void;
	readonly #keys = new Map<string, KeyQuota>();
	/** What must still be told to the ledger of months that have ended. */
	#endedMonths: UsageReport[] = [];
	#reporting: Promise<void> = Promise.resolve();
	#isReporting = false;
	readonly #timer: NodeJS.Timeout;

	/** @param now milliseconds since 1970; decides the month */
	constructor(ledger: QuotaLedger, now: () => number, onTrouble: (error: unknown) => void) {
		this.#ledger = ledger;
		this.#now = now;
		this.#onTrouble = onTrouble;
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
		const nowMs = this.#now();
		const quota = this.#current(keyId, nowMs);
		if (quota.inHand > 0) {
			quota.inHand--;
			quota.unreported++;
			if (quota.inHand < leaseAgainBelow && quota.usedUpUntilMs <= nowMs)
				this.#lease(keyId, quota, plan).catch(() => {
					// Whoever needs the next lease meets the trouble itself.
				});
			return true;
		}
		if (quota.usedUpUntilMs > nowMs) return false;
		return this.#lease(keyId, quota, plan).then(() => this.take(keyId, plan));
	}

	/** What is left of the key's quota this month, as far as this server knows. */
	remaining(keyId: string, plan: UsagePlan): number {
		const quota = this.#keys.get(keyId);
		return quota ? Math.max(0, plan.quotaPerMonth - quota.leased + quota.inHand) : plan.quotaPerMonth;
	}

	#current(keyId: string, nowMs: number): KeyQuota {
		let quota = this.#keys.get(keyId);
		if (quota && nowMs < quota.month.endMs) return quota;
		if (quota) this.#endedMonths.push(reportOf(keyId, quota, true));
		quota = {
			month: monthAt(nowMs),
			inHand: 0,
			leased: 0,
			unreported: 0,
			usedUpUntilMs: 0,
			leasing: undefined,
		};
		this.#keys.set(keyId, quota);
		return quota;
	}

	#lease(keyId: string, quota: KeyQuota, plan: UsagePlan): Promise<void> {
		quota.leasing ??= this.#ledger
			.leaseQuota(keyId, quota.month.name, plan)
			.then(({ granted, leased }) => {
				// Of a month that has ended meanwhile nothing may be admitted any more; give it back.
				if (this.#keys.get(keyId) !== quota)
					this.#endedMonths.push({ keyId, month: quota.month.name, used: 0, returned: granted });
				else quota.inHand += granted;
				quota.leased = leased;
				if (granted === 0) quota.usedUpUntilMs = this.#now() + lookAgainMs;
			})
			.finally(() => {
				quota.leasing = undefined;
			});
		return quota.leasing;
	}

	/** Tells the ledger what was admitted; with `giveBack`, returns what was leased and not used. */
	report(giveBack = false): Promise<void> {
		this.#reporting = this.#reporting.then(async () => {
			const reports = this.#endedMonths;
			this.#endedMonths = [];
			for (const [keyId, quota] of this.#keys) {
				if (quota.unreported > 0 || (giveBack && quota.inHand > 0))
					reports.push(reportOf(keyId, quota, giveBack));
			}
			if (reports.length === 0) return;
			try {
				await this.#ledger.recordUsage(reports);
			} catch (error) {
				this.#endedMonths.push(...reports);
				this.#onTrouble(error);
			}
		});
		return this.#reporting;
	}

	/** To be called when nothing is admitted any more. */
	async stop(): Promise<void> {
		clearInterval(this.#timer);
		await Promise.allSettled([...this.#keys.values()].map((quota) => quota.leasing));
		await this.report(true);
	}
}

/** Moves what is unreported (and in hand) out of the quota into a report. */
function reportOf(keyId: string, quota: KeyQuota, giveBack: boolean): UsageReport {
	const report = {
		keyId,
		month: quota.month.name,
		used: quota.unreported,
		returned: giveBack ? quota.inHand : 0,
	};
	quota.unreported = 0;
	if (giveBack) quota.inHand = 0;
	return report;
}
