import { randomUUID } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { monotonicMs } from '../../../clock.ts';
import { OperatorError, reasonOf, UnavailableError } from '../../../errors.ts';
import { handlesOfDatabase, maxFileHandles } from '../../file-handles.ts';
import { FullDisk } from '../../full-disk.ts';
import type { ServingWriter, WriterEvents } from '../../serving.ts';
import type { LogLength } from '../engine/checkpointer.ts';
import type { DataFolder, FolderLock } from '../engine/data-folder.ts';
import {
	type CommandInput,
	type CommandName,
	type CommandOutcome,
	packEvents,
	packTimes,
} from './commands.ts';
import { controlDatabaseId } from './messages.ts';
import { WriteQueue } from './sqlite-write-queue.ts';
import { WatchedLogs } from './watched-logs.ts';

/**
 * Several, so that commits of different accounts wait for the disk at the same time. A thread costs some 18 MiB, so all but that of the
 * control database begin with their first request.
 */
const maxThreads = 4;
/** The maximum number of open accounts' databases: 0.25 MiB of memory each. */
const maxOpenAccounts = 256;
/** Share of the process's file handles; the others are for connections and reads. */
const shareOfHandles = 1 / 2;
/** So many characters are about 64 to 128 MiB. */
const accountBounds = { maxWaiting: 8192, maxCharacters: 64 * 1024 * 1024 };
/** Requests to the control database are small, and are not refused because uploads wait. */
const controlBounds = { maxWaiting: 1024, maxCharacters: 1024 * 1024 };
const hitTimeoutMs = 5000;
const probeTimeoutMs = 1000;
const controlTimeoutMs = 10_000;
/** SQLite's texts for a disk that accepts no writes. */
const diskErrorCodes: ReadonlySet<string> = new Set(['database or disk is full', 'disk I/O error']);
/** More than one group of uploads needs. */
const roomBytes = 1024 * 1024;

/**
 * Starts writing to a data folder that this process has locked, with a few threads. Each database belongs to one of them for good,
 * so it has one writer.
 * @param accounts the number of accounts; no more threads than that are started
 */
export async function startServingWriter(
	folder: DataFolder,
	lock: FolderLock,
	{ onCommit, onWaiting, onDeath, onError, onNotice }: WriterEvents,
	accounts: number,
): Promise<ServingWriter> {
	const serverId = randomUUID();
	const disk = new FullDisk(() => takeRoom(folder));
	let isServing = false;
	const threads = Math.max(1, Math.min(maxThreads, accounts));
	const openAccounts = Math.min(maxOpenAccounts, (maxFileHandles() * shareOfHandles) / handlesOfDatabase);
	const options = {
		folderPath: folder.path,
		name: 'writer',
		onCommit,
		onWaiting,
		onDeath,
		openDatabases: Math.max(1, Math.floor(openAccounts / threads)),
		slots: accountBounds.maxWaiting + controlBounds.maxWaiting,
		onError(databaseId: number, reason: string) {
			// While starting, a failure is thrown instead.
			if (!isServing) return;
			if (diskErrorCodes.has(reason)) disk.found();
			onError(nameOf(databaseId), reason);
		},
	};
	const logs = new WatchedLogs(
		(databaseId) => (databaseId === controlDatabaseId ? folder.controlPath : folder.accountPath(databaseId)),
		(databaseId, notice) => onNotice(nameOf(databaseId), notice),
	);
	await using starting = new AsyncDisposableStack();
	starting.defer(() => lock.release());
	const queues = new Map<number, WriteQueue>();
	const queueOf = (databaseId: number) => {
		const thread = databaseId % threads;
		const onLogs = (found: readonly LogLength[]) => logs.take(thread, found, monotonicMs());
		return queues.getOrInsertComputed(
			thread,
			() => new WriteQueue({ ...options, onLogs, elsewhere: queues.get(controlDatabaseId) }),
		);
	};
	starting.defer(async () => {
		await Promise.all(queues.values().map((queue) => queue.stop()));
	});
	const bounds = { ...accountBounds, waiting: 0, characters: 0 };
	const boundsOfControl = { ...controlBounds, waiting: 0, characters: 0 };
	/** Gives up when the control database stays locked. */
	const control = async <Name extends CommandName>(
		command: Name,
		input: CommandInput<Name>,
		timeoutMs = controlTimeoutMs,
	): Promise<CommandOutcome<Name>> => {
		const deadlineMs = monotonicMs() + timeoutMs;
		const options = { deadlineMs, bounds: boundsOfControl };
		const outcome = await queueOf(controlDatabaseId).submit(controlDatabaseId, command, input, options);
		if (outcome === 'expired') throw new UnavailableError('the control database is locked');
		return outcome;
	};
	await control('forfeitLeases', null).catch((error) => {
		throw new OperatorError(
			`${folder.controlPath} cannot be written (${reasonOf(error)}); 'caskade doctor' looks for damage.`,
			{ cause: error },
		);
	});
	isServing = true;
	const running = starting.move();
	return {
		storeSubscriptionEvents(accountId, { events, ...upload }, deadline) {
			const text = packEvents(events);
			return queueOf(accountId).submit(
				accountId,
				'storeSubscriptionEvents',
				{ ...upload, ...packTimes(events), text },
				{ deadlineMs: deadline.atMs, deadline, bounds, characters: text.length },
			);
		},
		async storeHit(accountId, { body, ...hit }) {
			const text = JSON.stringify(body);
			const stored = await queueOf(accountId).submit(
				accountId,
				'storeHit',
				{ ...hit, text },
				{ deadlineMs: monotonicMs() + hitTimeoutMs, bounds, characters: 1000 + text.length },
			);
			if (stored === 'expired') throw new UnavailableError('the hit could not be stored in time');
			return stored;
		},
		settleQuotas: (settlements) => control('settleQuotas', { serverId, settlements }),
		recordCounts: (counts) => control('recordCounts', counts),
		async probe() {
			await disk.check();
			await control('probe', { atMs: Date.now() }, probeTimeoutMs);
		},
		get queueDepth() {
			return bounds.waiting;
		},
		get logs() {
			return logs.state;
		},
		announce: async (url, consoleUrl) => lock.announce(url, consoleUrl),
		stop: () => running.disposeAsync(),
	};
}

function nameOf(databaseId: number): string {
	return databaseId === controlDatabaseId ? 'control' : `account ${databaseId}`;
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
