import type { ServedScore } from '../../capabilities/training/store/served-scores.ts';
import { reasonOf } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import type { StorePlace } from '../../core/store/store.ts';
import { Thread } from '../../kit/jobs/thread.ts';
import type { BackgroundData, BackgroundWork, FromBackground, ToBackground } from './messages.ts';

/** The serving process's handle on its background work. */
export interface Background {
	/** Announces that an account has work waiting. */
	fold(accountId: number): void;
	/** Announces that visitors of an account with webhooks may have changed. */
	visitorChanged(accountId: number): void;
	/** Keeps scores that pages were told. */
	keepServed(accountId: number, scores: readonly ServedScore[]): void;
	/** Looks for webhooks from now on. */
	watchWebhooks(hasWebhooks: () => boolean): void;
	/** Profiles and tasks waiting to be folded. */
	readonly foldingWaiting: number;
	/** Deliveries so far, and webhooks that were disabled because they failed. */
	readonly deliveries: { readonly delivered: number; readonly failed: number; readonly disabled: number };
	/** Goals whose scores have left their bounds two weeks running, where this process compares them. */
	readonly promisesBroken: number;
	/** Waits for what has begun; a training is given up, and left to the next server. */
	stop(): Promise<void>;
}

/** The first look at all accounts may wait, so that it does not delay the start of the server. */
const startAfterMs = 1000;
const watchEveryMs = 500;
const announceAfterMs = 100;
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
	const deliveries = { delivered: 0, failed: 0, disabled: 0 };
	const levels = { foldingWaiting: 0, promisesBroken: 0 };
	const changed = new Set<number>();
	let hasWebhooks = false;
	let watching: NodeJS.Timeout | undefined;
	let thread: Thread<ToBackground, FromBackground> | undefined;
	let restartMs = firstRestartMs;
	let ended: Promise<void> | undefined;

	const start = () => {
		clearTimeout(starting);
		const startedMs = performance.now();
		const workerData: BackgroundData = { place, work, hasWebhooks };
		thread = new Thread({
			file: new URL('./background-thread.ts', import.meta.url),
			name: 'background',
			workerData,
			log,
			onEvent(event) {
				if ('counted' in event) deliveries[event.counted]++;
				else levels[event.level] = event.amount;
			},
			onEnd(reason) {
				if (ended) return;
				levels.promisesBroken = 0;
				log.error({ reason: reasonOf(reason) }, 'background work failed, starting again');
				if (performance.now() - startedMs > maxRestartMs) restartMs = firstRestartMs;
				starting = setTimeout(start, restartMs).unref();
				restartMs = Math.min(maxRestartMs, 2 * restartMs);
			},
		});
		return thread;
	};
	let starting = setTimeout(start, startAfterMs).unref();

	const post = (message: ToBackground) => {
		if (!ended) (thread ?? start()).post(message);
	};

	return {
		deliveries,
		get foldingWaiting() {
			return levels.foldingWaiting;
		},
		get promisesBroken() {
			return levels.promisesBroken;
		},
		fold: (accountId) => post({ type: 'fold', accountId }),
		keepServed: (accountId, scores) => post({ type: 'served', accountId, scores }),
		visitorChanged(accountId) {
			if (changed.size === 0)
				setTimeout(() => {
					post({ type: 'changed', accountIds: [...changed] });
					changed.clear();
				}, announceAfterMs).unref();
			changed.add(accountId);
		},
		watchWebhooks(areThere) {
			const look = () => {
				if (!areThere()) return;
				clearInterval(watching);
				hasWebhooks = true;
				post({ type: 'webhooks' });
			};
			watching = setInterval(look, watchEveryMs).unref();
			look();
		},
		stop() {
			clearTimeout(starting);
			clearInterval(watching);
			ended ??= thread?.stop(endWithinMs) ?? Promise.resolve();
			return ended;
		},
	};
}
