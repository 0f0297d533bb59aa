import { parentPort, workerData } from 'node:worker_threads';
import { openStore } from '../store/open.ts';
import { Folder, type FoldingSettings } from './folding.ts';

/** The thread that does what no request waits for; it opens the databases anew, as a command beside the server does. */

if (!parentPort) throw new Error('this file is the folding thread');
const port = parentPort;
const { database, stage } = workerData as FoldingSettings;
const stopping = new AbortController();
const store = await openStore(database, { ...(stage !== undefined && { stage }), mustExist: true });
const folder = new Folder(store, {
	report: (report) => port.postMessage(report),
	signal: stopping.signal,
});
port.on('message', (message: number | 'stop') => {
	if (message === 'stop') stopping.abort();
	else folder.wake(message);
});
await folder.run();
await store.close();
port.close();
