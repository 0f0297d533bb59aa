import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { reasonOf } from '../../errors.ts';
import type { Checkpointed } from './checkpoint.ts';
import { checkpoint } from './checkpoint.ts';
import { isIoError, openDatabase } from './connection.ts';

/**
 * Copies a write-ahead log back into its database, on a connection of its own, so that the writer goes on meanwhile.
 * Takes `{ databaseId, path }`, answers on the port `done` when done or given up.
 */
const { done } = workerData as { done: MessagePort };

parentPort?.on('message', ({ databaseId, path }: { databaseId: number; path: string }) => {
	let reason: string | undefined;
	try {
		using database = openDatabase(path, { busyTimeoutMs: 0 });
		checkpoint(database, 'PASSIVE');
	} catch (error) {
		// Whatever else makes it fail (a full disk) the writer meets and reports itself; then it is done later.
		if (isIoError(error)) reason = reasonOf(error);
	}
	const message: Checkpointed = { databaseId, reason };
	done.postMessage(message);
});
