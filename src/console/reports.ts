import { FairQueue } from '../reports/fair-queue.ts';
import type { Report } from '../reports/report.ts';
import type { ReportedAccount, ReportQuery } from '../reports/report-query.ts';
import type { MakeReport } from '../reports/report-runner.ts';
import type { Kept } from './kept.ts';

/** Of one account. */
const maxWaiting = 100;

/** Makes reports one at a time, and keeps them for a while. */
export class KeptReports {
	readonly #make: MakeReport;
	readonly #kept: Kept;
	readonly #queue = new FairQueue<number>(maxWaiting);
	readonly #stopping = new AbortController();

	constructor(make: MakeReport, kept: Kept) {
		this.#make = make;
		this.#kept = kept;
	}

	/** @throws OperatorError where the parameters are wrong */
	report(account: ReportedAccount, query: ReportQuery): Promise<Report> {
		const { signal } = this.#stopping;
		return this.#kept.value(['report', account, query], async () => {
			const text = await this.#queue.run(account.id, signal, () => this.#make(account, query, signal));
			return JSON.parse(text) as Report;
		});
	}

	stop(): void {
		this.#stopping.abort(new Error('the console is stopping'));
	}
}
