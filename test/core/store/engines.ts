import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { Deadline } from '../../../src/core/deadline.ts';
import type { SubscriptionEvent, UploadedEvent } from '../../../src/core/domain/subscription-event.ts';
import { OperatorError } from '../../../src/core/errors.ts';
import type { UploadOutcome } from '../../../src/core/store/account/arriving/arriving-events.ts';
import {
	type StoredSubscriptionEvent,
	subscriptionEvents as storedSubscriptionEvents,
} from '../../../src/core/store/account/reading/stored-events.ts';
import type { ServingWriter, WriterEvents } from '../../../src/core/store/serving.ts';
import type { OpenStore } from '../../../src/core/store/store.ts';
import { allTests } from '../../at-end.ts';
import { patience } from '../../eventually.ts';
import { quick } from '../../quick.ts';
import { installedFolder, type Lasting, temporaryFolder } from '../../support.ts';
import { openStore } from '../../whole.ts';
import { ignoreEvents } from './ignore-events.ts';
import { freshPostgresDatabase, installedPostgresDatabase } from './postgres-server.ts';

/** A kind of database that Caskade can use. */
export interface Engine {
	readonly name: string;
	/** The address of an empty database. */
	freshAddress(t: Lasting): Promise<string>;
	/** The address of an unused database, with tables if that is quicker. */
	installedAddress(t: Lasting): Promise<string>;
	/**
	 * A data folder has one server at a time, which copies the folder for a backup, and at its start knows that all
	 * leases are lost. A database server has its own tools for copies, and other servers may be alive.
	 */
	readonly isFolder: boolean;
}

const freshFolder = (t: Lasting) => `sqlite:${join(temporaryFolder(t), 'data')}`;

export const engines: readonly Engine[] = [
	{
		name: 'sqlite',
		freshAddress: async (t) => freshFolder(t),
		installedAddress: async (t) => `sqlite:${await installedFolder(t)}`,
		isFolder: true,
	},
	{
		name: 'postgres',
		freshAddress: () => freshPostgresDatabase(),
		installedAddress: () => installedPostgresDatabase(),
		isFolder: false,
	},
];

/**
 * For what every engine does by the same code, above the contract that the contract suite shows of each: in `npm test` one
 * of them.
 */
export const enginesAboveContract = quick ? engines.slice(0, 1) : engines;

/** Opens a store for one test. */
export async function openFor(t: Lasting, address: string): Promise<OpenStore> {
	const store = await openStore(address);
	t.after(() => store.close());
	return store;
}

/** Opens a store for serving, for one test. */
export async function startWritingFor(
	t: Lasting,
	store: OpenStore,
	events: Partial<WriterEvents> = {},
): Promise<ServingWriter> {
	const writer = await store.startWriting({ ...ignoreEvents, ...events });
	const storeHit = writer.storeHit.bind(writer);
	writer.storeHit = async (accountId, hit) => {
		for (let left = patience; ; left--)
			try {
				return await storeHit(accountId, hit);
			} catch (error) {
				// Then it was not stored. On a busy machine, only to start a thread may take longer than a visitor waits.
				if (left === 0 || !/in time$/.test((error as Error).message)) throw error;
			}
	};
	let stopped: Promise<void> | undefined;
	const stop = writer.stop.bind(writer);
	writer.stop = () => {
		stopped ??= stop();
		return stopped;
	};
	t.after(() => writer.stop());
	return writer;
}

export interface Serving {
	readonly address: string;
	readonly store: OpenStore;
	readonly writer: ServingWriter;
	/** An account of the client `acme`. */
	readonly aid: string;
	readonly accountId: number;
}

/** A new store with one account, opened for serving. */
export async function startServingFor(t: TestContext, engine: Engine): Promise<Serving> {
	const address = await engine.installedAddress(t);
	const store = await openFor(t, address);
	const aid = 'c-a-acme-uk';
	const accountId = await addAccount(store, aid);
	const writer = await startWritingFor(t, store);
	return { address, store, writer, aid, accountId };
}

/** A store for each engine, opened for serving, that the tests of this process share. */
const shared = new Map<Engine, Promise<Omit<Serving, 'aid' | 'accountId'>>>();

/**
 * Creates an account in a store that the tests of this process share. Tests of what accounts share, or of opening and
 * closing a store, open their own.
 */
export async function openAccountOn(engine: Engine): Promise<Serving> {
	const serving = shared.get(engine) ?? openShared(engine);
	shared.set(engine, serving);
	const { store, writer, address } = await serving;
	const aid = freshAid();
	return { store, writer, address, aid, accountId: await addAccount(store, aid) };
}

async function openShared(engine: Engine): Promise<Omit<Serving, 'aid' | 'accountId'>> {
	const address = await engine.installedAddress(allTests);
	const store = await openFor(allTests, address);
	return { address, store, writer: await startWritingFor(allTests, store) };
}

let accountCount = 0;

function freshAid(): string {
	accountCount++;
	return `c-a-acme-${accountCount}`;
}

/** Adds an account. @returns its number */
export async function addAccount(store: OpenStore, aid = freshAid(), client = 'acme'): Promise<number> {
	const account = await store.control.createAccount({ aid, client, origins: [] }, (id) =>
		store.createAccountDatabase(id),
	);
	return account.id;
}

let eventNumber = 0;

/** A subscription event with a unique `tid`. */
export function subscriptionEvent(fields: Partial<SubscriptionEvent> = {}): SubscriptionEvent {
	eventNumber++;
	return {
		tid: `T-${eventNumber}`,
		subid: `S-${eventNumber}`,
		cid: null,
		evt: 'newsletter',
		rvn: 499,
		...fields,
	};
}

export function subscriptionEvents(count: number): SubscriptionEvent[] {
	return Array.from({ length: count }, () => subscriptionEvent());
}

export const receivedAtMs = Date.UTC(2026, 10, 21, 10);

/** Uploads with a deadline that no test reaches by accident. */
export async function upload(
	writer: ServingWriter,
	accountId: number,
	events: readonly UploadedEvent[],
	options: { simulate?: boolean; atMs?: number; requestId?: string; keyId?: string } = {},
): Promise<UploadOutcome> {
	const deadline = new Deadline(60_000, () => {});
	try {
		const { simulate = false, atMs = receivedAtMs, requestId, keyId } = options;
		const arrival = { ...(requestId !== undefined && { requestId }), ...(keyId !== undefined && { keyId }) };
		const outcome = await writer.storeSubscriptionEvents(
			accountId,
			{ events, receivedAtMs: atMs, simulate, ...arrival },
			deadline,
		);
		if (outcome === 'expired') throw new Error('a deadline of a minute has expired');
		return outcome;
	} finally {
		deadline.clear();
	}
}

/** Expects an OperatorError with this message. */
export function assertRefuses(promise: Promise<unknown>, message: RegExp): Promise<void> {
	return assert.rejects(promise, (error) => {
		assert.ok(error instanceof OperatorError);
		assert.match(error.message, message);
		return true;
	});
}

/** The stored events of an account, in order of arrival. */
export function storedEvents(store: OpenStore, accountId: number): Promise<StoredSubscriptionEvent[]> {
	return Array.fromAsync(storedSubscriptionEvents(store, accountId));
}

/** The stored events without their time of arrival. */
export async function storedContent(store: OpenStore, accountId: number): Promise<SubscriptionEvent[]> {
	return (await storedEvents(store, accountId)).map(({ receivedAt: _, ...event }) => event);
}
