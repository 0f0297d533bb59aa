import type { Log } from './log.ts';
import type { LogThrottle } from './log-throttle.ts';
import type { Metrics } from './metrics.ts';
import type { ServingStore, ServingWriter } from './store/serving.ts';

interface WritingObservers {
	readonly metrics: Metrics;
	readonly log: Log;
	readonly logThrottle: LogThrottle;
	/** Called when nothing can be stored any more. */
	readonly onDeath: (error: Error) => void;
}

/** Starts to write, with what metrics and the log say of it. @param onWaiting called with an account that has work for the background */
export async function startWriting(
	store: ServingStore,
	{ metrics, log, logThrottle, onDeath }: WritingObservers,
	onWaiting: (accountId: number) => void,
): Promise<ServingWriter> {
	const writer = await store.startWriting({
		onCommit: (group) => metrics.committed(group),
		onError: (database, reason) => {
			metrics.storeFailures.inc();
			logThrottle.log(`${database} ${reason}`, (fields) =>
				log.error({ database, reason, ...fields }, 'store error'),
			);
		},
		onNotice: (database, notice) => log.warn({ database, notice }, 'notice of a database'),
		onWaiting,
		onDeath,
	});
	watchStore(metrics, writer);
	return writer;
}

function watchStore(metrics: Metrics, writer: ServingWriter): void {
	metrics.watch(
		{ name: 'caskade_store_queue_depth', help: 'Requests waiting for the store.' },
		() => writer.queueDepth,
	);
	const { logs } = writer;
	if (!logs) return;
	metrics.watch(
		{ name: 'caskade_log_bytes', help: 'The longest write-ahead log of a database.' },
		() => (writer.logs ?? logs).longestBytes,
	);
	metrics.watch(
		{
			name: 'caskade_log_held_seconds',
			help: 'For how long a reader has kept a write-ahead log from being copied.',
		},
		() => (writer.logs ?? logs).heldSeconds,
	);
}
