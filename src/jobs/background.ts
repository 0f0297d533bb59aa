import { reasonOf } from '../errors.ts';
import type { Log } from '../log.ts';
import type { ServedScore } from '../store/account/served-scores.ts';
import type { StorePlace } from '../store/store.ts';
import { compute } from './compute.ts';
import type { BackgroundData, BackgroundWork, FromBackground, ToBackground } from './messages.ts';
import { summaries } from './scheduled-training.ts';
import { SupervisedThread } from './supervised-thread.ts';

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
/** The same model comes from the same history, whenever it is trained. */
const scheduledSeed = 1;

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
	const stopping = new AbortController();
	const changed = new Set<number>();
	const broken = new Map<string, readonly string[]>();
	let foldingWaiting = 0;
	let hasWebhooks = false;
	let watching: NodeJS.Timeout | undefined;
	let thread: SupervisedThread<FromBackground, ToBackground> | undefined;
	let ended: Promise<void> | undefined;

	const started = () => {
		clearTimeout(starting);
		thread ??= new SupervisedThread<FromBackground, ToBackground>({
			file: new URL('./background-thread.ts', import.meta.url),
			name: 'background',
			workerData: (): BackgroundData => ({ place, work, hasWebhooks }),
			onMessage,
			endWithinMs,
			onDeath(error) {
				broken.clear();
				log.error({ reason: reasonOf(error) }, 'background work failed, starting again');
			},
		});
		return thread;
	};
	const starting = setTimeout(started, startAfterMs).unref();

	const post = (message: ToBackground) => {
		if (!stopping.signal.aborted) started().post(message);
	};

	const onMessage = (message: FromBackground) => {
		if (message.job === 'training') void train(message.aid, message.asOfMs);
		else if (message.job === 'folding') {
			if (message.type === 'waiting') foldingWaiting = message.count;
			else log.error({ account: message.account, reason: message.reason }, 'folding failed');
		} else if (message.job === 'days')
			log.error({ account: message.aid, reason: message.reason }, 'keeping days failed');
		else if (message.job === 'webhooks') {
			if (message.type === 'attempts') {
				deliveries.delivered += message.delivered;
				deliveries.failed += message.failed;
			} else if (message.type === 'disabled') {
				deliveries.disabled++;
				log.warn({ webhook: message.webhook, why: message.why }, 'webhook disabled');
			} else log.error({ account: message.account, reason: message.reason }, 'webhooks failed');
		} else if (message.job === 'retention') {
			const { job: _, type, ...fields } = message;
			if (type === 'pruned') log.info(fields, 'pruned');
			else log.error(fields, 'retention failed');
		} else if (message.type === 'promises') {
			const { aid, broken: goals } = message;
			const before = broken.get(aid);
			if (goals.some((goal) => !before?.includes(goal)))
				log.warn({ aid, goals }, 'scores have not kept what they promised, two weeks running');
			broken.set(aid, goals);
		} else {
			const { job: _, type, ...fields } = message;
			if (type === 'trained') log.info(fields, 'trained');
			else if (type === 'level' && message.isOutside)
				log.warn(fields, 'observed rate is outside the predicted interval');
			else if (type === 'level') log.info(fields, 'scores compared');
			else log.error(fields, 'training failed');
		}
	};

	const train = async (aid: string, asOfMs: number) => {
		const job = { type: 'training', aid, asOfMs, isOfNow: true, seed: scheduledSeed } as const;
		try {
			const all = { ...job, keepsChoice: true, isInBackground: true };
			const trained = await compute(place, all, { signal: stopping.signal });
			post({ type: 'trained', trained: summaries(trained) });
		} catch (error) {
			post({ type: 'not trained', reason: reasonOf(error) });
		}
	};

	return {
		deliveries,
		get foldingWaiting() {
			return foldingWaiting;
		},
		get promisesBroken() {
			return broken.values().reduce((sum, goals) => sum + goals.length, 0);
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
			stopping.abort();
			clearTimeout(starting);
			clearInterval(watching);
			ended ??= thread?.stop({ type: 'stop' }) ?? Promise.resolve();
			return ended;
		},
	};
}
