import { sql } from 'kysely';
import type { Capability, ControlMembers } from '../../capability.ts';
import { monotonicMs } from '../../clock.ts';
import { OperatorError } from '../../errors.ts';
import { accountStore, selectAccount, selectAccounts, selectOwnDatabases } from './accounts.ts';
import { caskStore } from './casks.ts';
import { clientStore } from './clients.ts';
import { goalStore } from './goals.ts';
import { keyStore } from './keys.ts';
import { modelStore } from './models.ts';
import { noteStore } from './notes.ts';
import { planStore, selectPlan } from './plans.ts';
import { selectRevision } from './rows.ts';
import { segmentStore } from './segments.ts';
import { selectSnapshot } from './snapshot.ts';
import { type ControlContent, type ControlDatabase, type ControlDoors, copiedTables } from './tables.ts';
import { uploadAnswerStore } from './upload-answers.ts';

export type { Account, AccountSettings } from './accounts.ts';
export { type ApiKey, isUsable, type KeyUsage } from './keys.ts';
export type { ModelName, StoredModel } from './models.ts';
export type { StoredNote } from './notes.ts';
export type { ExperimentRead, RequestCounts, UploadAnswers, UploadProblem } from './request-counts.ts';
export type { AccessSnapshot, KnownAccount, KnownKey } from './snapshot.ts';
export { type ControlContent, type ControlTable, type ControlTables, tablesIn } from './tables.ts';

/** The servers whose quota leases are still in use; `all` if none can have died. */
export type LiveServers = () => Promise<readonly string[] | 'all'>;

/** How long a change waits for others. On a cluster, to create an account takes seconds. */
const maxWaitMs = 60_000;

/** What the core keeps in the control database. Capabilities add their nouns. */
export interface ControlStore extends ReturnType<typeof coreStore>, ControlMembers {
	/** Makes several changes one: all are stored, or none. `fn` may use no store but the one that it is given. */
	together<T>(fn: (control: ControlStore) => Promise<T>): Promise<T>;
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
	const { change, now } = doors;
	const together: ControlStore['together'] = (fn) =>
		change((transaction) =>
			fn(storeOf({ database: transaction, change: (inner) => inner(transaction), now }, options)),
		);
	const members = options.capabilities.map(({ nouns }) => nouns?.members(doors));
	return Object.assign(coreStore(doors, options), { together }, ...members);
}

interface ControlOptions {
	readonly now: () => number;
	readonly readClock?: () => Promise<void>;
	readonly liveServers: LiveServers;
	readonly isTimedOut?: (error: unknown) => boolean;
	readonly onOwnDatabases?: (addresses: ReadonlyMap<number, string>) => void;
	readonly capabilities: readonly Capability[];
}

function doorsOf(
	database: ControlDatabase,
	{ now, readClock = async () => {}, isTimedOut = () => false }: ControlOptions,
): ControlDoors {
	/** Every change of data that running servers cache goes through this: it bumps the revision that they poll. */
	const change: ControlDoors['change'] = async (fn) => {
		await readClock();
		const lateAtMs = monotonicMs() + maxWaitMs;
		for (;;) {
			let hasBegun = false;
			try {
				return await database.transaction().execute(async (transaction) => {
					// First, to take the write lock before anything is read.
					await transaction
						.updateTable('revision')
						.set(({ eb }) => ({ number: eb('number', '+', 1) }))
						.execute();
					hasBegun = true;
					return fn(transaction);
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
	return { database, change, now };
}

function coreStore(doors: ControlDoors, options: ControlOptions) {
	const { database, now } = doors;
	const { readClock = async () => {}, liveServers, onOwnDatabases = () => {}, capabilities } = options;
	const nouns = capabilities.flatMap((capability) => capability.nouns ?? []);
	const snapshot = <T>(fn: (transaction: ControlDatabase) => Promise<T>) =>
		database.transaction().setIsolationLevel('repeatable read').execute(fn);
	const ownDatabases = () => selectOwnDatabases(database);
	return {
		...accountStore(doors, nouns),
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
			return selectRevision(database);
		},

		accessSnapshot: () =>
			snapshot(async (transaction) => {
				const access = await selectSnapshot(transaction, now(), capabilities);
				onOwnDatabases(await selectOwnDatabases(transaction));
				return access;
			}),

		/** Addresses of the accounts' own database servers, including passwords, by account number. */
		ownDatabases,

		async accounts() {
			await readClock();
			const all = await selectAccounts(database);
			onOwnDatabases(await ownDatabases());
			return all;
		},

		/** @throws OperatorError where there is none */
		async account(aid: string) {
			const account = await selectAccount(database, aid);
			onOwnDatabases(await ownDatabases());
			return account;
		},

		/** Whether a server uses this store. */
		async isServed(): Promise<boolean> {
			const live = await liveServers();
			return live === 'all' || live.length > 0;
		},

		/** A consistent snapshot of the whole control database, for copying and comparing. */
		content: () =>
			snapshot(async (transaction) => {
				const rows: Record<string, unknown> = {};
				for (const table of [...copiedTables, ...nouns.flatMap(({ copiedTables }) => copiedTables)])
					rows[table] = await transaction
						.selectFrom(table as 'client')
						.selectAll()
						.orderBy(sql`1`)
						.execute();
				return rows as unknown as ControlContent;
			}),
	};
}
