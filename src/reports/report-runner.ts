import { Worker } from 'node:worker_threads';
import { OperatorError } from '../errors.ts';
import type { StorePlace } from '../store/store.ts';
import { FairQueue } from './fair-queue.ts';
import type { ReportJob, ReportMessage } from './report-job.ts';
import type { ReportedAccount, ReportQuery } from './report-query.ts';

/** The maximum number of a client's waiting reports; each takes seconds of CPU time. */
const maxWaiting = 4;

/** Makes reports on a thread, one at a time, so that requests do not wait for them. */
export class ReportRunner {
	readonly #place: StorePlace;
	readonly #queue = new FairQueue<number>(maxWaiting);

	constructor(place: StorePlace) {
		this.#place = place;
	}

	/**
	 * A report as JSON.
	 * @param signal aborted when nobody waits for the report any more
	 * @throws OperatorError where the parameters are wrong; QueueFullError
	 */
	run(clientId: number, account: ReportedAccount, query: ReportQuery, signal: AbortSignal): Promise<string> {
		return this.#queue.run(clientId, signal, () =>
			this.#make({ place: this.#place, account, query }, signal),
		);
	}

	#make(job: ReportJob, signal: AbortSignal): Promise<string> {
		const { promise, resolve, reject } = Promise.withResolvers<string>();
		const thread = new Worker(new URL('./report-thread.ts', import.meta.url), { workerData: job });
		const stop = () => void thread.terminate();
		signal.addEventListener('abort', stop, { once: true });
		thread.on('message', (message: ReportMessage) => {
			if (message.type === 'done') resolve(message.json);
			else reject(message.type === 'refused' ? new OperatorError(message.reason) : new Error(message.reason));
		});
		thread.on('error', reject);
		thread.on('exit', () => {
			signal.removeEventListener('abort', stop);
			reject(new Error('the report thread has ended'));
		});
		return promise;
	}
}
