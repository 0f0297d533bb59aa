import { parentPort, workerData } from 'node:worker_threads';
import { hourMs } from '../durations.ts';
import { openStore } from '../store/open.ts';
import { type RetentionSettings, runRetention } from './retention.ts';

/** The thread that deletes old hits. It opens the databases itself, like a command that runs beside the server. */

if (!parentPort) throw new Error('this file is the retention thread');
const port = parentPort;
const { database, stage, keepHitsDays, keepTouches } = workerData as Required<RetentionSettings>;
const stopping = new AbortController();
port.once('message', () => stopping.abort());

const store = await openStore(database, { stage, mustExist: true });
await runRetention(store, {
	keepHitsDays,
	keepTouches,
	everyMs: hourMs,
	now: store.now,
	report: (report) => port.postMessage(report),
	signal: stopping.signal,
});
await store.close();
// If the one-time listener has not fired, the port would keep the thread alive.
port.close();
