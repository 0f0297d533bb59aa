import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { reasonOf } from '../../../errors.ts';
import type { CheckpointReport } from './checkpoint.ts';
import { copyLog } from './checkpoint.ts';
import { isIoError, openDatabase } from './sqlite-connection.ts';

/**
 * Copies write-ahead logs into their databases, on connections of its own, so that the writer need not wait. Receives
 * `{ databaseId, path }`, and answers on the port `done` when it has finished or given up.
 */
const { done } = workerData as { done: MessagePort };

parentPort?.on('message', ({ databaseId, path }: { databaseId: number; path: string }) => {
	let reason: string | undefined;
	let isHeld = false;
	try {
		using database = openDatabase(path, { busyTimeoutMs: 0 });
		isHeld = copyLog(database);
	} catch (error) {
		// The writer meets and reports any other failure, such as a full disk, and the log is copied later.
		if (isIoError(error)) reason = reasonOf(error);
	}
	const message: CheckpointReport = { databaseId, reason, isHeld };
	done.postMessage(message);
});
