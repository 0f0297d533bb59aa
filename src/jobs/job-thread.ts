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

/** How a thread of jobs is started. */
export interface JobThread {
	/** Its module, which does each message as a job. */
	readonly file: URL;
	readonly name: string;
	/** Whether it waits for the next job, because its start takes longer than most. */
	readonly isKept?: boolean;
}

/** V8's default lets the young objects of each thread take some 50 MiB, and a training has three. */
const resourceLimits = { maxYoungGenerationSizeMb: 8 };

/** A kept thread waits so long. There is at most one of each module. */
const keptMs = 30_000;
const kept = new Map<string, { readonly worker: Worker; readonly release: () => void }>();

/**
 * Does a job on a thread.
 * @throws OperatorError where the job is impossible; the signal's reason
 */
export function runJob<Result, Progress>(
	thread: JobThread,
	job: unknown,
	{ signal, onProgress = () => {} }: JobOptions<Progress>,
): Promise<Result> {
	if (signal?.aborted) return Promise.reject(signal.reason);
	const { promise, resolve, reject } = Promise.withResolvers<Result>();
	const worker = takeKept(thread) ?? new Worker(thread.file, { name: thread.name, resourceLimits });
	const stop = () => void worker.terminate();
	const onExit = () => {
		signal?.removeEventListener('abort', stop);
		reject(signal?.aborted ? signal.reason : new Error(`the thread of the ${thread.name} has ended`));
	};
	const onMessage = (message: JobMessage<Result, Progress>) => {
		if (message.type === 'progress') return onProgress(message.progress);
		worker.off('message', onMessage).off('error', reject).off('exit', onExit);
		signal?.removeEventListener('abort', stop);
		if (thread.isKept) keep(thread, worker);
		else stop();
		if (message.type === 'done') resolve(message.result);
		else reject(message.type === 'refused' ? new OperatorError(message.reason) : new Error(message.reason));
	};
	signal?.addEventListener('abort', stop, { once: true });
	worker.on('message', onMessage).on('error', reject).on('exit', onExit);
	worker.postMessage(job);
	return promise;
}

function takeKept({ file, isKept }: JobThread): Worker | undefined {
	const found = isKept ? kept.get(file.href) : undefined;
	if (!found) return undefined;
	kept.delete(file.href);
	found.release();
	found.worker.ref();
	return found.worker;
}

/** The process may end meanwhile. */
function keep(thread: JobThread, worker: Worker): void {
	if (kept.has(thread.file.href)) return void worker.terminate();
	const end = () => void takeKept(thread)?.terminate();
	const timer = setTimeout(end, keptMs).unref();
	// One by one: without its own listeners a thread receives nothing more.
	const release = () => {
		clearTimeout(timer);
		worker.off('exit', end).off('error', end);
	};
	worker.on('exit', end).on('error', end).unref();
	kept.set(thread.file.href, { worker, release });
}
