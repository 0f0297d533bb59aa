import { parentPort, workerData } from 'node:worker_threads';
import { AccessDirectory } from '../access/directory.ts';
import { monotonicMs } from '../clock.ts';
import { createConsole } from '../console/console.ts';
import { openStore } from '../store/open.ts';
import { compute } from './compute.ts';
import type { ConsoleData, FromConsole, ToConsole } from './messages.ts';
import { yieldToServing } from './yield-to-serving.ts';

/** The thread of the console. It opens the databases itself, and makes reports on a thread of theirs. */

if (!parentPort) throw new Error('this file is the thread of the console');
const port = parentPort;
yieldToServing();
const { place, entrance } = workerData as ConsoleData;
const send = (message: FromConsole) => port.postMessage(message);
const onError = (error: unknown, path: string) =>
	send({
		type: 'failed',
		path,
		cause: error instanceof Error ? (error.stack ?? error.message) : String(error),
	});

const store = await openStore(place.database, { ...place, mustExist: true });
const directory = await AccessDirectory.load(store.control, (error) => onError(error, 'control database'));
const pages = createConsole({
	store,
	directory,
	monotonicMs,
	onError,
	now: store.now,
	...entrance,
	makeReport: (account, query, signal) =>
		compute(place, { type: 'report', account, query, isInBackground: true }, { signal, isKept: true }),
	// As `caskade train` does, but requests come first.
	train: (training, onProgress) =>
		compute(
			place,
			{ type: 'training', ...training, isOfNow: true, seed: 1, keepsChoice: false, isInBackground: true },
			{ onProgress },
		),
});

port.on('message', async (message: ToConsole) => {
	if (message.type === 'request') {
		send({ type: 'answer', id: message.id, answer: await pages.answer(message.request) });
		return;
	}
	pages.stop();
	await directory.stop();
	await store.close();
	port.close();
});
