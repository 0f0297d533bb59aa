import { randomUUID } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { monotonicMs } from '../../clock.ts';
import type { KeyUse } from '../../domain/api-key.ts';
import type { QuotaHolding, QuotaSettlement } from '../../domain/quota-lease.ts';
import { OperatorError, reasonOf, StorageError } from '../../errors.ts';
import { FullDisk } from '../full-disk.ts';
import type { ServingWriter, WriterEvents } from '../store.ts';
import { AccountWriters, RunningAccountWriters } from './account-writers.ts';
import type { ControlCommands } from './commands.ts';
import type { DataFolder, FolderLock } from './data-folder.ts';
import { controlDatabaseId } from './messages.ts';
import { QueueBounds } from './queue-bounds.ts';
import { RunningWriter } from './running-writer.ts';
import { Writer } from './writer.ts';

/** For requests to the control database, which are small. */
const controlBounds = { length: 1024, maxCharacters: 1024 * 1024 };
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
	const stoppedAtTheEnd = <Started extends { stop(): Promise<void> }>(started: Started) => {
		starting.defer(() => started.stop());
		return started;
	};
	// The control database has a thread of its own, so that quota leases and uploads do not wait for each other.
	const [writers, controlWriter] = await Promise.all([
		RunningAccountWriters.start(accounts, { ...options, name: 'writer' }).then(stoppedAtTheEnd),
		RunningWriter.start({ ...options, name: 'control-writer', openDatabases: 1 }).then(stoppedAtTheEnd),
	]);
	const writes = new AccountWriters(writers.connect(), onCommit);
	const bounds = new QueueBounds(controlBounds);
	const control = new ControlWrites(new Writer(controlWriter.connect(bounds), bounds, () => {}));
	starting.defer(() => {
		writes.flush();
		control.flush();
	});
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
		link: () => writers.connect(),
		settleQuotas: (settlements) => control.settleQuotas(settlements),
		recordKeyUses: (uses) => control.recordKeyUses(uses),
		async probe() {
			await disk.check();
			await control.probe();
		},
		get queueDepth() {
			return writers.depth;
		},
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
	readonly #writer: Writer;
	readonly #serverId = randomUUID();

	constructor(writer: Writer) {
		this.#writer = writer;
	}

	async #submit<Name extends keyof ControlCommands>(
		command: Name,
		input: Parameters<ControlCommands[Name]>[1],
		timeoutMs = controlTimeoutMs,
	): Promise<ReturnType<ControlCommands[Name]>['value']> {
		const deadlineMs = monotonicMs() + timeoutMs;
		const value = await this.#writer.submit(controlDatabaseId, command, input as never, { deadlineMs });
		if (value === 'expired') throw new StorageError('the control database is locked');
		return value as ReturnType<ControlCommands[Name]>['value'];
	}

	flush(): void {
		this.#writer.flush();
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
