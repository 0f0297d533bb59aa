import { randomUUID } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { OperatorError, reasonOf } from '../../../errors.ts';
import { FullDisk } from '../../full-disk.ts';
import type { ServingWriter, WriterEvents } from '../../store.ts';
import type { DataFolder, FolderLock } from '../engine/data-folder.ts';
import { controlDatabaseId } from './messages.ts';
import { WriteQueues } from './write-queues.ts';

const probeTimeoutMs = 1000;
const controlTimeoutMs = 10_000;
/** SQLite's texts for a disk that accepts no writes. */
const diskErrorCodes: ReadonlySet<string> = new Set(['database or disk is full', 'disk I/O error']);
/** More than one group of uploads needs. */
const roomBytes = 1024 * 1024;

/**
 * Starts the writer threads of a data folder that this process has locked.
 * @param accounts the number of accounts
 */
export async function startServingWriter(
	folder: DataFolder,
	lock: FolderLock,
	events: WriterEvents,
	accounts: number,
): Promise<ServingWriter> {
	const serverId = randomUUID();
	const disk = new FullDisk(() => takeRoom(folder));
	let isServing = false;
	const onError = (databaseId: number, reason: string) => {
		// While starting, a failure is thrown instead.
		if (!isServing) return;
		if (diskErrorCodes.has(reason)) disk.found();
		events.onError(databaseId === controlDatabaseId ? 'control' : `account ${databaseId}`, reason);
	};
	await using starting = new AsyncDisposableStack();
	starting.defer(() => lock.release());
	const { onCommit, onWaiting, onDeath } = events;
	const writes = new WriteQueues(accounts, {
		folderPath: folder.path,
		onCommit,
		onError,
		onWaiting,
		onDeath,
	});
	starting.defer(() => writes.stop());
	await writes.control('forfeitLeases', null, controlTimeoutMs).catch((error) => {
		throw new OperatorError(
			`${folder.controlPath} cannot be written (${reasonOf(error)}); 'caskade doctor' looks for damage.`,
			{ cause: error },
		);
	});
	isServing = true;
	const running = starting.move();
	return {
		storeSubscriptionEvents: (accountId, upload, deadline) =>
			writes.storeSubscriptionEvents(accountId, upload, deadline),
		storeHit: (accountId, hit) => writes.storeHit(accountId, hit),
		settleQuotas: (settlements) =>
			writes.control('settleQuotas', { serverId, settlements }, controlTimeoutMs),
		async recordKeyUses(uses) {
			await writes.control('recordKeyUses', uses, controlTimeoutMs);
		},
		async probe() {
			await disk.check();
			await writes.control('probe', { atMs: Date.now() }, probeTimeoutMs);
		},
		get queueDepth() {
			return writes.depth;
		},
		announce: (url) => lock.announce(url),
		stop: () => running.disposeAsync(),
	};
}

/** @throws where the folder's disk is full */
async function takeRoom(folder: DataFolder): Promise<void> {
	const file = await open(folder.roomPath, 'w', 0o600);
	try {
		await file.writeFile(Buffer.alloc(roomBytes, 1));
		await file.sync();
	} finally {
		await file.close();
		await rm(folder.roomPath, { force: true });
	}
}
