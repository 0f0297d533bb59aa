import type { Background } from '../../core/api/serving-part.ts';
import { reasonOf } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import type { StorePlace } from '../../core/store/store.ts';
import type { BackgroundWork } from '../../kit/jobs/background-part.ts';
import { fewYoungObjects, Thread } from '../../kit/jobs/thread.ts';
import type { BackgroundData, FromBackground, ToBackground } from './thread-messages.ts';

/** The first look at all accounts may wait, so that it does not delay the start of the server. */
const startAfterMs = 1000;
const endsWithinMs = 15_000;
/** The pause before a restart doubles up to the longest. It is reset once a thread has lived that long. */
const firstRestartMs = 1000;
const maxRestartMs = 60_000;

/**
 * Does all background work on one thread, because a batch would block the event loop of the serving thread. The thread
 * starts when there is work, or a second later, and is started again if it dies.
 */
export function startBackground(
	place: StorePlace,
	work: BackgroundWork,
	log: Log,
	{ endWithinMs = endsWithinMs } = {},
): Background {
	const counts = new Map<string, number>();
	const levels = new Map<string, number>();
	/** What a new thread must be told, too. */
	const kept: ToBackground[] = [];
	let thread: Thread<ToBackground, FromBackground> | undefined;
	let restartMs = firstRestartMs;
	let ended: Promise<void> | undefined;

	const start = () => {
		clearTimeout(starting);
		const startedMs = performance.now();
		const workerData: BackgroundData = { place, work };
		thread = new Thread({
			file: new URL('./background-thread.ts', import.meta.url),
			name: 'background',
			resourceLimits: fewYoungObjects,
			workerData,
			log,
			onEvent(event) {
				if ('counted' in event) counts.set(event.counted, (counts.get(event.counted) ?? 0) + 1);
				else levels.set(event.level, event.amount);
			},
			onEnd(reason) {
				if (ended) return;
				levels.clear();
				log.error({ reason: reasonOf(reason) }, 'background work failed, starting again');
				if (performance.now() - startedMs > maxRestartMs) restartMs = firstRestartMs;
				starting = setTimeout(start, restartMs).unref();
				restartMs = Math.min(maxRestartMs, 2 * restartMs);
			},
		});
		for (const message of kept) thread.post(message);
		return thread;
	};
	let starting = setTimeout(start, startAfterMs).unref();

	const post = (message: ToBackground) => {
		if (!ended) (thread ?? start()).post(message);
	};

	return {
		count: (name) => counts.get(name) ?? 0,
		level: (name) => levels.get(name) ?? 0,
		fold: (accountId) => post({ type: 'fold', accountId }),
		post: (to, message) => post({ type: 'post', to, message }),
		keepPosting(to, message) {
			const own = { type: 'post', to, message } as const;
			post(own);
			kept.push(own);
		},
		stop() {
			clearTimeout(starting);
			ended ??= thread?.stop(endWithinMs) ?? Promise.resolve();
			return ended;
		},
	};
}
