import type { ControlMembers, NotedMoment, StoreCapability } from '../../capability.ts';
import { monotonicMs } from '../../clock.ts';
import { OperatorError } from '../../errors.ts';
import { ask, type Reading, raw, select, sql } from '../steps.ts';
import {
	accountNamed,
	accountStore,
	ownDatabasesOf,
	selectAccountIds,
	selectAccountRows,
	selectAccounts,
	selectOwnDatabases,
} from './account-store.ts';
import { caskStore } from './cask-store.ts';
import { clientStore } from './client-store.ts';
import {
	type ControlContent,
	type ControlDatabase,
	type ControlDoors,
	type ControlTable,
	coreTables,
	type RunSteps,
} from './control-tables.ts';
import { goalStore } from './goal-store.ts';
import { keyStore } from './key-store.ts';
import { modelStore } from './model-store.ts';
import { noteStore } from './note-store.ts';
import { planStore, selectPlan } from './plan-store.ts';
import { segmentStore } from './segment-store.ts';
import { revisionOf, selectRevision, selectSnapshot } from './snapshot.ts';
import { uploadAnswerStore } from './upload-answers.ts';

export type { Account, AccountSettings } from './account-store.ts';
export type { ControlContent, ControlDatabase } from './control-tables.ts';
export { type ApiKey, isUsable, type KeyUsage } from './key-store.ts';
export type { ModelName, StoredModel } from './model-store.ts';
export type { StoredNote } from './note-store.ts';
export type { ExperimentRead, RequestCounts, UploadAnswers, UploadProblem } from './request-counts.ts';
export type { AccessSnapshot, KnownAccount, KnownKey } from './snapshot.ts';

/** The servers whose quota leases are still in use; `all` if none can have died. */
export type LiveServers = () => Promise<readonly string[] | 'all'>;

/** How long a change waits for others. On a cluster, to create an account takes seconds. */
const maxWaitMs = 60_000;

/** What the core keeps in the control database. Capabilities add their nouns. */
export interface ControlStore extends ReturnType<typeof coreStore>, ControlMembers {
	/** Makes several changes one: all are stored, or none. `fn` may use no store but the one that it is given. */
	together<T>(fn: (control: ControlStore) => Promise<T>): Promise<T>;
	/** What happened to an account by capabilities, for pictures of time. */
	moments(accountId: number): Promise<readonly NotedMoment[]>;
}

/**
 * Access to the control database: clients, accounts, plans, keys, goals, segments, models, signing keys and revocations, and what
 * capabilities add. What it can do is in the other files of this folder, one per noun. Takes the time as a value, so that tests can
 * set it.
 * @param options.readClock refreshes `now`, if that requires a query
 * @param options.isTimedOut whether the database has ended a statement, such as one that waited for another change
 * @param options.onOwnDatabases called whenever accounts are read, with those that have their own server
 */
export function controlStore(database: ControlDatabase, options: ControlOptions): ControlStore {
	return storeOf(doorsOf(database, options), options);
}

function storeOf(doors: ControlDoors, options: ControlOptions): ControlStore {
	const together: ControlStore['together'] = (fn) => doors.together((inside) => fn(storeOf(inside, options)));
	const members = options.capabilities.map(({ nouns }) => nouns?.members(doors));
	const moments: ControlStore['moments'] = async (accountId) => {
		const all = options.capabilities.map(({ nouns }) => nouns?.moments?.(store, accountId) ?? []);
		return (await Promise.all(all)).flat();
	};
	const store: ControlStore = Object.assign(coreStore(doors, options), { together, moments }, ...members);
	return store;
}

interface ControlOptions {
	readonly now: () => number;
	readonly readClock?: () => Promise<void>;
	readonly liveServers: LiveServers;
	readonly isTimedOut?: (error: unknown) => boolean;
	readonly onOwnDatabases?: (addresses: ReadonlyMap<number, string>) => void;
	readonly capabilities: readonly StoreCapability[];
}

function doorsOf(
	database: ControlDatabase,
	{ now, readClock = async () => {}, isTimedOut = () => false }: ControlOptions,
): ControlDoors {
	/** Every change of data that running servers cache goes through this: it bumps the revision that they poll. */
	const together: ControlDoors['together'] = async (fn) => {
		await readClock();
		const lateAtMs = monotonicMs() + maxWaitMs;
		for (;;) {
			let hasBegun = false;
			try {
				return await database.transact(async (run) => {
					// First, to take the write lock before anything is read.
					await run(sql`UPDATE @revision SET number = number + 1`);
					hasBegun = true;
					return fn(doorsInside(run, now));
				});
			} catch (error) {
				if (hasBegun || !isTimedOut(error)) throw error;
				if (monotonicMs() >= lateAtMs)
					throw new OperatorError(
						'Another change of accounts or settings is still under way, such as an account that is being created: repeat this one later. Nothing of it was made.',
						{ cause: error },
					);
			}
		}
	};
	return {
		read: (reading) => database.read(reading),
		write: (begin) => database.write(begin()),
		change: (begin) => together(({ change }) => change(begin)),
		together,
		now,
	};
}

/** The doors of a transaction. */
function doorsInside(run: RunSteps, now: () => number): ControlDoors {
	const write: ControlDoors['write'] = (begin) => run(begin());
	const doors: ControlDoors = { read: run, write, change: write, together: (fn) => fn(doors), now };
	return doors;
}

function coreStore(doors: ControlDoors, options: ControlOptions) {
	const { read, now } = doors;
	const { readClock = async () => {}, liveServers, onOwnDatabases = () => {}, capabilities } = options;
	const nouns = capabilities.flatMap((capability) => capability.nouns ?? []);
	const ownDatabases = async () => ownDatabasesOf(await read(selectOwnDatabases()));
	const tables = [...coreTables, ...nouns.flatMap((noun) => noun.tables)];
	return {
		...accountStore(doors, tables),
		...caskStore(doors),
		...clientStore(doors),
		...goalStore(doors),
		...keyStore(doors, { liveServers, requirePlan: selectPlan }),
		...modelStore(doors),
		...planStore(doors),
		...segmentStore(doors, nouns),
		notes: noteStore(doors),
		uploadAnswers: uploadAnswerStore(doors),

		async revision(): Promise<number> {
			await readClock();
			return revisionOf(await read(selectRevision()));
		},

		async accessSnapshot() {
			const { access, own } = await read(selectAccess(now(), capabilities));
			onOwnDatabases(own);
			return access;
		},

		/** Addresses of the accounts' own database servers, including passwords, by account number. */
		ownDatabases,

		async accounts() {
			await readClock();
			const all = await read(selectAccounts());
			onOwnDatabases(await ownDatabases());
			return all;
		},

		/** In order of creation: of thousands, numbers alone are little to keep. */
		async accountIds(which: 'all' | 'in use' = 'all') {
			await readClock();
			const ids = await read(selectAccountIds(which));
			onOwnDatabases(await ownDatabases());
			return ids;
		},

		/** @throws OperatorError where there is none */
		async account(aid: string) {
			const account = accountNamed(aid, await read(selectAccountRows({ 'account.aid': aid })));
			onOwnDatabases(await ownDatabases());
			return account;
		},

		/** Whether a server uses this store. */
		async isServed(): Promise<boolean> {
			const live = await liveServers();
			return live === 'all' || live.length > 0;
		},

		/** A consistent snapshot of the whole control database, for copying and comparing. */
		content: () => read(selectContent(tables)),
	};
}

function* selectAccess(nowMs: number, capabilities: readonly StoreCapability[]) {
	return {
		access: yield* selectSnapshot(nowMs, capabilities),
		own: ownDatabasesOf(yield* selectOwnDatabases()),
	};
}

function* selectContent(tables: readonly ControlTable[]): Reading<ControlContent> {
	const copied = tables.filter(({ isCopied }) => isCopied);
	const rows = copied.map(({ name }) => [name, select`* FROM @${raw(name)} ORDER BY 1`] as const);
	return (yield* ask(Object.fromEntries(rows))) as ControlContent;
}
