import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { openDatabase } from './connection.ts';

/**
 * Copies a write-ahead log back into its database, on a connection of its own, so that the writer goes on meanwhile.
 * Takes `{ databaseId, path }`, answers `{ databaseId }` on the port `done` when done or given up.
 */
const { done } = workerData as { done: MessagePort };

parentPort?.on('message', ({ databaseId, path }: { databaseId: number; path: string }) => {
	try {
		const database = openDatabase(path, { busyTimeoutMs: 0, autoCheckpoint: false });
		try {
			database.prepare('PRAGMA wal_checkpoint(PASSIVE)').get();
		} finally {
			database.close();
		}
	} catch {
		// A checkpoint can always be done later; what makes it fail (a full disk) the writer meets and reports itself.
	}
	done.postMessage({ databaseId });
});
