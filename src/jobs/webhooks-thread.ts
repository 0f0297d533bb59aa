import { randomUUID } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';
import { AccessDirectory } from '../access/directory.ts';
import { reasonOf } from '../errors.ts';
import { scorerOf } from '../scoring/visitor-scorer.ts';
import { openStore } from '../store/open.ts';
import type { StorePlace } from '../store/store.ts';
import { WebhookJob } from './webhooks.ts';

/** The thread of webhooks. It opens the databases itself, like a command that runs beside the server. */

if (!parentPort) throw new Error('this file is the thread of webhooks');
const port = parentPort;
const { database, stage } = workerData as StorePlace;
const stopping = new AbortController();
const onError = (error: unknown) => port.postMessage({ type: 'error', reason: reasonOf(error) });
const store = await openStore(database, { stage, mustExist: true });
const directory = await AccessDirectory.load(store.control, onError);
const reader = store.startReading();
const job = new WebhookJob({
	...{ store, directory, holder: randomUUID(), signal: stopping.signal },
	scorer: scorerOf(store, { reader, now: store.now, onError }),
	report: (report) => port.postMessage(report),
});
port.on('message', (message: readonly number[] | 'stop') => {
	if (message === 'stop') stopping.abort();
	else for (const accountId of message) job.wake(accountId);
});
await job.run();
await directory.stop();
await reader.close();
await store.close();
port.close();
