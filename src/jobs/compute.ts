import { Worker } from 'node:worker_threads';
import { OperatorError } from '../errors.ts';
import type { TrainingProgress } from '../scoring/judge/account-training.ts';
import type { StorePlace } from '../store/store.ts';
import type { ComputeData, ComputeJob, ComputeMessage, ResultOf } from './messages.ts';

export interface ComputeOptions {
	/** Ends the thread at once. */
	readonly signal?: AbortSignal;
	readonly onProgress?: (progress: TrainingProgress) => void;
}

/**
 * Does what takes seconds of CPU on a thread of its own, which opens the databases itself and ends with the job.
 * @throws OperatorError where the job is impossible; the signal's reason
 */
export function compute<Job extends ComputeJob>(
	place: StorePlace,
	job: Job,
	{ signal, onProgress = () => {} }: ComputeOptions = {},
): Promise<ResultOf<Job>> {
	if (signal?.aborted) return Promise.reject(signal.reason);
	const { promise, resolve, reject } = Promise.withResolvers<ResultOf<Job>>();
	const workerData: ComputeData = { place, job };
	const thread = new Worker(new URL('./compute-thread.ts', import.meta.url), { name: job.type, workerData });
	const stop = () => void thread.terminate();
	signal?.addEventListener('abort', stop, { once: true });
	thread.on('message', (message: ComputeMessage) => {
		if (message.type === 'progress') onProgress(message.progress);
		else if (message.type === 'done') resolve(message.result as ResultOf<Job>);
		else reject(message.type === 'refused' ? new OperatorError(message.reason) : new Error(message.reason));
	});
	thread.on('error', reject);
	thread.on('exit', () => {
		signal?.removeEventListener('abort', stop);
		reject(signal?.aborted ? signal.reason : new Error(`the thread of the ${job.type} has ended`));
	});
	return promise;
}
