import { Worker } from 'node:worker_threads';
import { OperatorError } from '../errors.ts';

/** What the thread of a job sends. */
export type JobMessage<Result, Progress> =
	| { readonly type: 'progress'; readonly progress: Progress }
	| { readonly type: 'done'; readonly result: Result }
	| { readonly type: 'refused' | 'failed'; readonly reason: string };

export interface JobOptions<Progress> {
	/** Ends the thread at once. */
	readonly signal?: AbortSignal | undefined;
	readonly onProgress?: ((progress: Progress) => void) | undefined;
}

/**
 * Runs a thread that does one job.
 * @param job its `workerData`
 * @throws OperatorError where the job is impossible; the signal's reason
 */
export function runJob<Result, Progress>(
	thread: { readonly file: URL; readonly name: string },
	job: unknown,
	{ signal, onProgress = () => {} }: JobOptions<Progress>,
): Promise<Result> {
	if (signal?.aborted) return Promise.reject(signal.reason);
	const { promise, resolve, reject } = Promise.withResolvers<Result>();
	const worker = new Worker(thread.file, { name: thread.name, workerData: job });
	const stop = () => void worker.terminate();
	signal?.addEventListener('abort', stop, { once: true });
	worker.on('message', (message: JobMessage<Result, Progress>) => {
		if (message.type === 'progress') onProgress(message.progress);
		else if (message.type === 'done') resolve(message.result);
		else reject(message.type === 'refused' ? new OperatorError(message.reason) : new Error(message.reason));
	});
	worker.on('error', reject);
	worker.on('exit', () => {
		signal?.removeEventListener('abort', stop);
		reject(signal?.aborted ? signal.reason : new Error(`the thread of the ${thread.name} has ended`));
	});
	return promise;
}
