import { FairQueue } from '../../kit/reports/fair-queue.ts';
import type { ReportedAccount, ReportQuery } from '../../kit/reports/report-query.ts';

/** The maximum number of a client's waiting reports; each takes seconds of CPU time. */
const maxWaiting = 4;

/** Makes a report as JSON, on a thread, so that requests do not wait for it. Gives up when the signal is aborted. */
export type MakeReport = (
	account: ReportedAccount,
	query: ReportQuery,
	signal: AbortSignal,
) => Promise<string>;

/** Makes reports one at a time. */
export class ReportRunner {
	readonly #make: MakeReport;
	readonly #queue = new FairQueue<number>(maxWaiting);

	constructor(make: MakeReport) {
		this.#make = make;
	}

	/**
	 * A report as JSON.
	 * @param signal aborted when nobody waits for the report any more
	 * @throws OperatorError where the parameters are wrong; QueueFullError
	 */
	run(clientId: number, account: ReportedAccount, query: ReportQuery, signal: AbortSignal): Promise<string> {
		return this.#queue.run(clientId, signal, () => this.#make(account, query, signal));
	}
}
