import { FairQueue } from '../reports/fair-queue.ts';
import type { Report } from '../reports/report.ts';
import type { ReportedAccount, ReportQuery } from '../reports/report-query.ts';
import type { MakeReport } from '../reports/report-runner.ts';

/** A report is shown again for so long, and for longer if it took long. */
const leastKeptMs = 5000;
const keptTimes = 20;
const maxKept = 100;
/** Of one account. */
const maxWaiting = 100;

interface Kept {
	readonly made: Promise<Report>;
	/** Infinite while it is being made. */
	untilMs: number;
}

/** Makes reports one at a time, and keeps them for a while: people go back, reload, and look at the same page together. */
export class KeptReports {
	readonly #make: MakeReport;
	readonly #monotonicMs: () => number;
	readonly #queue = new FairQueue<number>(maxWaiting);
	readonly #kept = new Map<string, Kept>();
	readonly #stopping = new AbortController();

	constructor(make: MakeReport, monotonicMs: () => number) {
		this.#make = make;
		this.#monotonicMs = monotonicMs;
	}

	/** @throws OperatorError where the parameters are wrong */
	report(account: ReportedAccount, query: ReportQuery): Promise<Report> {
		const key = JSON.stringify([account, query]);
		const known = this.#kept.get(key);
		if (known && known.untilMs > this.#monotonicMs()) return known.made;
		const made = this.#begin(account, query);
		const kept: Kept = { made, untilMs: Number.POSITIVE_INFINITY };
		this.#kept.delete(key);
		this.#kept.set(key, kept);
		for (const oldest of this.#kept.keys()) {
			if (this.#kept.size <= maxKept) break;
			this.#kept.delete(oldest);
		}
		const fromMs = this.#monotonicMs();
		made.then(
			() => {
				const nowMs = this.#monotonicMs();
				kept.untilMs = nowMs + Math.max(leastKeptMs, keptTimes * (nowMs - fromMs));
			},
			() => this.#kept.delete(key),
		);
		return made;
	}

	async #begin(account: ReportedAccount, query: ReportQuery): Promise<Report> {
		const { signal } = this.#stopping;
		const text = await this.#queue.run(account.id, signal, () => this.#make(account, query, signal));
		return JSON.parse(text) as Report;
	}

	stop(): void {
		this.#stopping.abort(new Error('the console is stopping'));
	}
}
