import { fewYoungObjects, Thread } from './thread.ts';

export interface JobOptions<Progress> {
	/** Ends the thread at once. */
	readonly signal?: AbortSignal | undefined;
	readonly onProgress?: ((progress: Progress) => void) | undefined;
	/** Whether the thread waits for the next job of its name, because its start takes longer than most. */
	readonly isKept?: boolean | undefined;
}

/** A kept thread waits so long. There is at most one of each module, for jobs of whatever name. */
const keptMs = 30_000;
const kept = new Map<string, { readonly thread: Thread<unknown>; readonly timer: NodeJS.Timeout }>();

/** Does a job on a thread. @param file its module, which does each call as a job */
export async function runJob<Result, Progress>(
	file: URL,
	name: string,
	job: unknown,
	{ signal, onProgress, isKept }: JobOptions<Progress>,
): Promise<Result> {
	signal?.throwIfAborted();
	const thread =
		(isKept && takeKept(file.href)) || new Thread<unknown>({ file, name, resourceLimits: fewYoungObjects });
	const cut = () => thread.cut();
	signal?.addEventListener('abort', cut, { once: true });
	try {
		return await thread.call<Result, Progress>(job, onProgress);
	} catch (error) {
		throw signal?.aborted ? signal.reason : error;
	} finally {
		signal?.removeEventListener('abort', cut);
		if (isKept && !kept.has(file.href)) keep(file.href, thread);
		else cut();
	}
}

function takeKept(file: string): Thread<unknown> | undefined {
	const { thread, timer } = kept.get(file) ?? {};
	kept.delete(file);
	clearTimeout(timer);
	return thread?.hasEnded ? undefined : thread;
}

/** The process may end meanwhile. */
function keep(file: string, thread: Thread<unknown>): void {
	thread.unref();
	const timer = setTimeout(() => takeKept(file)?.cut(), keptMs).unref();
	kept.set(file, { thread, timer });
}
