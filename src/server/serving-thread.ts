import { parentPort, workerData } from 'node:worker_threads';
import { createBirpc } from 'birpc';
import { AccessDirectory } from '../access/directory.ts';
import { LentQuota } from '../access/lent-quota.ts';
import { monotonicMs } from '../clock.ts';
import { OperatorError } from '../errors.ts';
import { createLog, throttledErrors } from '../log.ts';
import { LogThrottle } from '../log-throttle.ts';
import { Metrics } from '../metrics.ts';
import { openStore } from '../store/open.ts';
import { announceTogether } from '../webhooks/announce-together.ts';
import { type Listener, listen } from './listen.ts';
import {
	callTimeoutMs,
	type MainThreadCalls,
	type ServingThreadCalls,
	type ServingThreadData,
} from './thread-calls.ts';

/** A thread that listens on a port that other threads share; see `ServingThreads`. */

if (!parentPort) throw new Error('this file is a serving thread');
const main = parentPort;
const { number, place, settings, logLevel, tls, limits, link } = workerData as ServingThreadData;
const log = createLog(logLevel).child({ worker: number });
const metrics = new Metrics({ ofThread: true });
const store = await openStore(place.database, place);
let listener: Listener | undefined;
let directory: AccessDirectory | undefined;

const calls = createBirpc<MainThreadCalls, ServingThreadCalls>(
	{
		async listen(port) {
			try {
				listener = await start(port);
			} catch (error) {
				if (error instanceof OperatorError) return { refused: error.message };
				throw error;
			}
			log.info({ url: listener.url }, 'listening');
			return { url: listener.url, port: listener.port };
		},
		metrics: () => metrics.values(),
		async stop() {
			log.info({}, 'stopping');
			await listener?.stop();
			await directory?.stop();
			await store.close();
			log.info({}, 'stopped');
		},
	},
	{
		post: (message) => main.postMessage(message),
		on: (taker) => main.on('message', taker),
		timeout: callTimeoutMs,
	},
);

const onVisitorChange = announceTogether((accountIds) => void calls.visitorsChanged.asEvent(accountIds));

async function start(port: number): Promise<Listener> {
	const writes = store.joinWriting?.(link, (group) => metrics.committed(group));
	if (!writes) throw new Error('this store is written to by processes, not by threads');
	const { now } = store;
	const logThrottle = new LogThrottle(monotonicMs);
	const onError = throttledErrors(log, logThrottle, 'control database error');
	directory = await AccessDirectory.load(store.control, onError);
	return listen({
		...{ directory, store, tls, limits, metrics, log, logThrottle, now, onVisitorChange },
		settings: { ...settings, port },
		writer: {
			storeSubscriptionEvents: (...upload) => writes.storeSubscriptionEvents(...upload),
			storeHit: (...hit) => writes.storeHit(...hit),
			probe: () => calls.probe(),
			recordKeyUses: (uses) => calls.recordKeyUses(uses),
		},
		quota: new LentQuota(calls, { now, monotonicMs }),
		sharesPort: true,
	});
}
