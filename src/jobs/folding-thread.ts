import { parentPort, workerData } from 'node:worker_threads';
import { openStore } from '../store/open.ts';
import { Folder, type FoldingSettings } from './folding.ts';

/** The thread of the background job. It opens the databases itself, like a command that runs beside the server. */

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
