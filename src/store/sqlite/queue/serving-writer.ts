import { randomUUID } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { monotonicMs } from '../../../clock.ts';
import type { KeyUse } from '../../../domain/api-key.ts';
import type { QuotaHolding, QuotaSettlement } from '../../../domain/quota-lease.ts';
import { OperatorError, reasonOf, StorageError } from '../../../errors.ts';
import { FullDisk } from '../../full-disk.ts';
import type { ServingWriter, WriterEvents } from '../../store.ts';
import type { DataFolder, FolderLock } from '../engine/data-folder.ts';
import { AccountQueues } from './account-queues.ts';
import type { ControlCommands } from './commands.ts';
import { controlDatabaseId } from './messages.ts';
import { WriteQueue } from './write-queue.ts';

/** For requests to the control database, which are small. */
const controlBounds = () => ({ maxWaiting: 1024, maxCharacters: 1024 * 1024, waiting: 0, characters: 0 });
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
	const options = { folderPath: folder.path, onError, onWaiting, onDeath };
	const controlOptions = {
		name: 'control-writer',
		openDatabases: 1,
		bounds: controlBounds(),
		onCommit: () => {},
	};
	const stoppedAtTheEnd = <Started extends { stop(): Promise<void> }>(started: Started) => {
		starting.defer(() => started.stop());
		return started;
	};
	// The control database has a thread of its own, so that quota leases and uploads do not wait for each other.
	const [writes, controlQueue] = await Promise.all([
		AccountQueues.start(accounts, { ...options, onCommit }).then(stoppedAtTheEnd),
		WriteQueue.start({ ...options, ...controlOptions }).then(stoppedAtTheEnd),
	]);
	const control = new ControlWrites(controlQueue);
	await control.forfeitLeases().catch((error) => {
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
		settleQuotas: (settlements) => control.settleQuotas(settlements),
		recordKeyUses: (uses) => control.recordKeyUses(uses),
		async probe() {
			await disk.check();
			await control.probe();
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

/** Writes to the control database. Gives up when it stays locked. */
class ControlWrites {
	readonly #queue: WriteQueue;
	readonly #serverId = randomUUID();

	constructor(queue: WriteQueue) {
		this.#queue = queue;
	}

	async #submit<Name extends keyof ControlCommands>(
		command: Name,
		input: Parameters<ControlCommands[Name]>[1],
		timeoutMs = controlTimeoutMs,
	): Promise<ReturnType<ControlCommands[Name]>['value']> {
		const deadlineMs = monotonicMs() + timeoutMs;
		const value = await this.#queue.submit(controlDatabaseId, command, input as never, { deadlineMs });
		if (value === 'expired') throw new StorageError('the control database is locked');
		return value as ReturnType<ControlCommands[Name]>['value'];
	}

	settleQuotas(settlements: readonly QuotaSettlement[]): Promise<(QuotaHolding | null)[]> {
		return this.#submit('settleQuotas', { serverId: this.#serverId, settlements });
	}

	async recordKeyUses(uses: readonly KeyUse[]): Promise<void> {
		await this.#submit('recordKeyUses', uses);
	}

	async forfeitLeases(): Promise<void> {
		await this.#submit('forfeitLeases', null);
	}

	async probe(): Promise<void> {
		await this.#submit('probe', { atMs: Date.now() }, probeTimeoutMs);
	}
}
