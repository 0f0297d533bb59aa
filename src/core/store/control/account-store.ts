import { randomBytes } from 'node:crypto';
import type { ChannelRule } from '../../domain/channel-rule.ts';
import type { CancellationEvt } from '../../domain/event-kind.ts';
import { defaultGoals } from '../../domain/goal.ts';
import { defaultSegments } from '../../domain/segment.ts';
import type { IdTrust } from '../../domain/signed-id.ts';
import type { CadenceTable, RenewalDays } from '../../domain/subscription-cadence.ts';
import { dayMs } from '../../durations.ts';
import { OperatorError } from '../../errors.ts';
import { isoTime } from '../../format/iso-time.ts';
import { shownAddress } from '../own-database.ts';
import {
	type ColumnValues,
	changing,
	having,
	inserting,
	type Reading,
	type Row,
	raw,
	type Steps,
	select,
	sql,
} from '../steps.ts';
import type { ControlDoors, ControlTable } from './control-tables.ts';
import { insertGoal } from './goal-store.ts';
import { insertNote } from './note-store.ts';
import { insertSegment } from './segment-store.ts';

/** A setting: how it is stored, and what new accounts have. */
interface Setting<Value> {
	toColumn(value: Value): string | number | null;
	fromColumn(column: string): Value;
	readonly usual: Value;
}

const json = <Value>(usual: Value): Setting<Value> => ({
	toColumn: JSON.stringify,
	// Most of thousands of accounts have it, which is kept once.
	fromColumn: (column) => (column === JSON.stringify(usual) ? usual : JSON.parse(column)),
	usual,
});
const yesOrNo = (usual: boolean): Setting<boolean> => ({
	toColumn: Number,
	fromColumn: (column) => Number(column) === 1,
	usual,
});
const text = <Value extends string | null>(usual: Value): Setting<Value> => ({
	toColumn: (value) => value,
	fromColumn: (column) => column as Value,
	usual,
});

/** What the operator can change at any time. Each is in the column of its name. */
const settings = {
	/** Web origins whose pages may read scores; empty for all. */
	origins: json<readonly string[]>([]),
	/** Whether pages may ask for the reasons of a score. */
	explains: yesOrNo(false),
	/** Whether pages may ask which group of an experiment their visitor is in. */
	tellsExperiments: yesOrNo(false),
	channelRules: json<readonly ChannelRule[]>([]),
	/** For days and months in reports, for example `Europe/London`. */
	timezone: text<string>('UTC'),
	/** Hosts of payment pages besides the known ones. A return from one of them is not an arrival. */
	paymentProviders: json<readonly string[]>([]),
	/** Days from one renewal to the next, by `evt`. Those of other subscriptions are learned. */
	renewalDays: json<RenewalDays>({}),
	/** How many days after its due day a renewal is in time, by `evt`. Of other subscriptions, it is by their cadence, or learned. */
	graceDays: json<Readonly<Record<string, number>>>({}),
	/** An event of no pence with this `evt` cancels its subscription; null if nothing is uploaded that does. */
	cancellationEvt: text<CancellationEvt>(null),
	/** Amounts are in its minor unit, for example `GBP`. */
	currency: text<string>('GBP'),
	/** What is believed of the `cid`s and `tid`s that hits show. */
	idTrust: text<IdTrust>('claimed'),
};

export type AccountSettings = {
	readonly [Name in keyof typeof settings]: (typeof settings)[Name]['usual'];
};

/** Each with its name and column. */
const storedSettings = Object.entries(settings as Readonly<Record<string, Setting<unknown>>>).map(
	([name, setting]) =>
		[
			name as keyof AccountSettings,
			name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
			setting,
		] as const,
);

export const defaultSettings = Object.fromEntries(
	storedSettings.map(([name, , { usual }]) => [name, usual]),
) as unknown as AccountSettings;

/** The settings in a row of `account`. */
export function accountSettings(row: Row): AccountSettings {
	return Object.fromEntries(
		storedSettings.map(([name, column, { fromColumn }]) => [name, fromColumn(row[column] as string)]),
	) as unknown as AccountSettings;
}

/** The columns of those that are given. */
function columnsOf(given: Partial<AccountSettings>): ColumnValues {
	const changed = storedSettings.filter(([name]) => given[name] !== undefined);
	return Object.fromEntries(changed.map(([name, column, { toColumn }]) => [column, toColumn(given[name])]));
}

export interface Account extends AccountSettings {
	readonly id: number;
	readonly aid: string;
	readonly client: string;
	readonly createdAt: string;
	readonly disabledAt: string | null;
	/** Address of the account's own server, without the password; `null` if its data is beside the control database. */
	readonly ownDatabase: string | null;
}

/** What the marks of an account's erasures are made with. */
export interface MarkingSecret {
	readonly aid: string;
	readonly secret: string;
}

/** How long ids that are signed with the previous secret are believed after a rotation. */
const previousSecretMs = dayMs;

function newIdentitySecret(): string {
	return `caskade_identity_${randomBytes(32).toString('base64url')}`;
}

/** The data of an account to create. Settings that are left out have their defaults. */
export interface NewAccount extends Partial<AccountSettings> {
	readonly aid: string;
	readonly client: string;
	/** Address of the account's own database server. */
	readonly ownDatabase?: string | undefined;
}

/** With the default goals and segments, and its client if that does not exist. */
function* insertAccount({ aid, client, ownDatabase, ...settings }: NewAccount, nowMs: number): Steps<number> {
	if ((yield* selectAccounts(aid)).length > 0) throw new OperatorError(`Account ${aid} exists already.`);
	yield* sql`INSERT INTO @client ${inserting({ name: client, created_at: nowMs })} ON CONFLICT (name) DO NOTHING`;
	const [row] = yield* sql`INSERT INTO @account ${inserting({
		aid,
		client_id: yield* clientId(client),
		created_at: nowMs,
		database: ownDatabase,
		visitor_secret: randomBytes(32).toString('hex'),
		...columnsOf({ ...defaultSettings, ...settings }),
	})} RETURNING id`;
	const id = Number(row?.id);
	for (const goal of defaultGoals) yield* insertGoal(id, goal, nowMs);
	for (const segment of defaultSegments) yield* insertSegment(id, segment, nowMs);
	return id;
}

/** Besides the settings. */
export interface AccountRow extends Row {
	readonly id: number;
	readonly aid: string;
	readonly client_id: number;
	readonly client: string;
	readonly created_at: number;
	readonly disabled_at: number | null;
	readonly database: string | null;
	readonly cadences: string | null;
	readonly visitor_secret: string;
	readonly identity_secret: string | null;
	readonly previous_identity_secret: string | null;
	readonly previous_identity_until: number | null;
}

/** In order of creation. @param columns named with their tables */
export const selectAccountRows = (columns: ColumnValues) =>
	select<AccountRow>`account.*, client.name AS client FROM @account AS account JOIN @client AS client ON client.id = account.client_id WHERE ${having(columns)} ORDER BY account.id`;

function toAccount(row: AccountRow): Account {
	return {
		id: row.id,
		aid: row.aid,
		client: row.client,
		...accountSettings(row),
		createdAt: isoTime(row.created_at),
		disabledAt: isoTime(row.disabled_at),
		ownDatabase: row.database === null ? null : shownAddress(row.database),
	};
}

/** Of clients that are disabled, too, or of accounts that serve. */
export function* selectAccountIds(which: 'all' | 'in use'): Reading<number[]> {
	const columns = which === 'all' ? {} : { 'account.disabled_at': null, 'client.disabled_at': null };
	const rows =
		yield* select`account.id FROM @account AS account JOIN @client AS client ON client.id = account.client_id WHERE ${having(columns)} ORDER BY account.id`;
	return rows.map(({ id }) => Number(id));
}

/** All accounts, or the named one. */
export function* selectAccounts(aid?: string): Reading<Account[]> {
	return (yield* selectAccountRows({ 'account.aid': aid })).map(toAccount);
}

interface OwnDatabaseRow {
	readonly id: number;
	readonly database: string;
}

export const selectOwnDatabases = () =>
	select<OwnDatabaseRow>`id, database FROM @account WHERE database IS NOT NULL`;

/** Addresses of the accounts' own database servers, including passwords, by account number. */
export function ownDatabasesOf(rows: readonly OwnDatabaseRow[]): Map<number, string> {
	return new Map(rows.map(({ id, database }) => [id, database]));
}

/** @throws OperatorError where there is none */
export function accountNamed(aid: string, [row]: readonly AccountRow[]): Account {
	if (!row) throw new OperatorError(`There is no account ${aid}; 'caskade account list' shows all.`);
	return toAccount(row);
}

/** @throws OperatorError where there is none */
export function* selectAccount(aid: string): Reading<Account> {
	return accountNamed(aid, yield* selectAccountRows({ 'account.aid': aid }));
}

/** @throws OperatorError where there is no such client */
export function* clientId(name: string): Reading<number> {
	const [client] = yield* select`id FROM @client WHERE name = ${name}`;
	if (!client)
		throw new OperatorError(
			`There is no client ${name}; 'caskade account create AID --client ${name}' creates it.`,
		);
	return Number(client.id);
}

export function accountStore({ read, change, together, now }: ControlDoors, tables: readonly ControlTable[]) {
	const rowOf = async (id: number) => (await read(selectAccountRows({ 'account.id': id })))[0];
	/** The secret in a column, which is made on first use. */
	const secretIn = (column: 'import_secret' | 'identity_secret', id: number, secret: string) =>
		change(function* () {
			yield* sql`UPDATE @account SET ${changing({ [column]: secret })} WHERE ${having({ id, [column]: null })}`;
			const [row] = yield* selectAccountRows({ 'account.id': id });
			return row?.[column] as string;
		});
	return {
		/**
		 * Adds an account, and its client if that does not exist. The account can be used once `makeDatabase` has created its
		 * database.
		 * @throws OperatorError where the account exists
		 */
		createAccount: (
			account: NewAccount,
			makeDatabase: (accountId: number) => Promise<void>,
		): Promise<Account> =>
			together(async (inside) => {
				await makeDatabase(await inside.write(() => insertAccount(account, now())));
				return inside.read(selectAccount(account.aid));
			}),

		/** Fields that are left out keep their value. @throws OperatorError where there is none */
		updateAccount: (aid: string, changes: Partial<AccountSettings>): Promise<Account> =>
			change(function* () {
				const account = yield* selectAccount(aid);
				const changed = { ...account, ...changes };
				yield* sql`UPDATE @account SET ${changing(columnsOf(changed))} WHERE aid = ${aid}`;
				if (JSON.stringify(changed.channelRules) !== JSON.stringify(account.channelRules))
					yield* insertNote(account.id, 'The rules of channels were changed.', now());
				return changed;
			}),

		/** Disabling twice keeps the first time. @throws OperatorError where there is none */
		setAccountDisabled: (aid: string, disabled: boolean): Promise<Account> =>
			change(function* () {
				const { disabledAt } = yield* selectAccount(aid);
				if (disabled !== (disabledAt !== null))
					yield* sql`UPDATE @account SET disabled_at = ${disabled ? now() : null} WHERE aid = ${aid}`;
				return yield* selectAccount(aid);
			}),

		/** Deletes all rows about an account; its database is the store's. @throws OperatorError where there is none */
		deleteAccount: (aid: string): Promise<void> =>
			change(function* () {
				const { id } = yield* selectAccount(aid);
				// What refers to a row goes before it.
				for (const { name, account, forgets } of tables.toReversed()) {
					if (!account) continue;
					const rows = having({ [account]: account === 'aid' ? aid : id });
					const how = forgets ? `UPDATE @${name} SET ${forgets} = NULL` : `DELETE FROM @${name}`;
					yield* sql`${raw(how)} WHERE ${rows}`;
				}
			}),

		/** Undefined where it was deleted. */
		async accountNumbered(id: number): Promise<Account | undefined> {
			const row = await rowOf(id);
			return row && toAccount(row);
		},

		/** Whether an account exists and is not disabled. While it is being deleted it is disabled, and its database may be gone. */
		isAccountInUse: async (id: number): Promise<boolean> => (await rowOf(id))?.disabled_at === null,

		/** The account's secret for hashing visitors' names in imports. Created on first use. */
		importSecret: (id: number) => secretIn('import_secret', id, randomBytes(32).toString('base64url')),

		/** The secret that the client's back end signs ids with. Created on first use. */
		identitySecret: (id: number) => secretIn('identity_secret', id, newIdentitySecret()),

		/** Makes another one. The previous one counts for another day. */
		rotateIdentitySecret: (id: number): Promise<string> =>
			change(function* () {
				const secret = newIdentitySecret();
				yield* sql`UPDATE @account SET previous_identity_secret = identity_secret, identity_secret = ${secret}, previous_identity_until = ${now() + previousSecretMs} WHERE id = ${id}`;
				return secret;
			}),

		/** The account's secret for deriving visitors, see `domain/derived-vid.ts`. */
		async visitorSecret(id: number): Promise<string> {
			return (await this.marking(id)).secret;
		},

		/** By what an account's erasures are marked: its secret for deriving visitors. */
		async marking(id: number): Promise<MarkingSecret> {
			const row = await rowOf(id);
			if (!row) throw new OperatorError(`There is no account with the number ${id}.`);
			return { aid: row.aid, secret: row.visitor_secret };
		},

		/** What was last learned about the account's cadences; null if nothing was. */
		async cadences(id: number): Promise<CadenceTable | null> {
			const row = await rowOf(id);
			return row?.cadences ? JSON.parse(row.cadences) : null;
		},

		setCadences: (id: number, table: CadenceTable) =>
			change(() => sql`UPDATE @account SET cadences = ${JSON.stringify(table)} WHERE id = ${id}`),
	};
}
