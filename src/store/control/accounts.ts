import { randomBytes } from 'node:crypto';
import type { ChannelRule } from '../../domain/channel-rule.ts';
import { defaultGoals } from '../../domain/goal.ts';
import { defaultSegments } from '../../domain/segment.ts';
import type { CadenceTable } from '../../domain/subscription-cadence.ts';
import { OperatorError } from '../../errors.ts';
import { isoTime } from '../../format/iso-time.ts';
import { shownAddress } from '../own-database.ts';
import { insertGoal } from './goals.ts';
import { insertSegment } from './segments.ts';
import type { ControlDatabase, ControlTables } from './tables.ts';

/** Settings that the operator can change at any time. */
export interface AccountSettings {
	/** Web origins whose pages may read scores; empty for all. */
	readonly origins: readonly string[];
	/** Whether pages may ask for the reasons of a score. */
	readonly explains: boolean;
	readonly channelRules: readonly ChannelRule[];
	/** For days and months in reports, for example `Europe/London`. */
	readonly timezone: string;
	/** Hosts of payment pages besides the known ones. A return from one of them is not an arrival. */
	readonly paymentProviders: readonly string[];
	/** Days from one renewal to the next, by `evt`. Those of other subscriptions are learned. */
	readonly renewalDays: Readonly<Record<string, number>>;
	/** Amounts are in its minor unit, for example `GBP`. */
	readonly currency: string;
}

const defaultSettings: AccountSettings = {
	origins: [],
	explains: false,
	channelRules: [],
	timezone: 'UTC',
	paymentProviders: [],
	renewalDays: {},
	currency: 'GBP',
};

export interface Account extends AccountSettings {
	readonly id: number;
	readonly aid: string;
	readonly client: string;
	readonly createdAt: string;
	readonly disabledAt: string | null;
	/** Address of the account's own server, without the password; `null` if its data is beside the control database. */
	readonly ownDatabase: string | null;
}

/** The data of an account to create. Settings that are left out have their defaults. */
export interface NewAccount extends Partial<AccountSettings> {
	readonly aid: string;
	readonly client: string;
	/** Address of the account's own database server. */
	readonly ownDatabase?: string | undefined;
}

/**
 * Adds an account with the default goals and segments, and its client if that does not exist.
 * @throws OperatorError where the account exists
 */
export async function insertAccount(
	database: ControlDatabase,
	{ aid, client, ownDatabase, ...settings }: NewAccount,
	nowMs: number,
): Promise<number> {
	const existing = await database
		.selectFrom('account')
		.select('id')
		.where('aid', '=', aid)
		.executeTakeFirst();
	if (existing) throw new OperatorError(`Account ${aid} exists already.`);
	await database
		.insertInto('client')
		.values({ name: client, created_at: nowMs, disabled_at: null })
		.onConflict((conflict) => conflict.column('name').doNothing())
		.execute();
	const { id } = await database
		.insertInto('account')
		.values({
			aid,
			client_id: await clientId(database, client),
			created_at: nowMs,
			disabled_at: null,
			database: ownDatabase ?? null,
			import_secret: null,
			...columnsOf({ ...defaultSettings, ...settings }),
		})
		.returning('id')
		.executeTakeFirstOrThrow();
	for (const goal of defaultGoals) await insertGoal(database, id, goal, nowMs);
	for (const segment of defaultSegments) await insertSegment(database, id, segment, nowMs);
	return id;
}

/** All accounts, or the named one. */
export async function selectAccounts(database: ControlDatabase, aid?: string): Promise<Account[]> {
	let query = database
		.selectFrom('account')
		.innerJoin('client', 'client.id', 'account.client_id')
		.selectAll('account')
		.select('client.name as client')
		.orderBy('account.id');
	if (aid !== undefined) query = query.where('account.aid', '=', aid);
	return (await query.execute()).map((row) => ({
		id: row.id,
		aid: row.aid,
		client: row.client,
		...accountSettings(row),
		createdAt: isoTime(row.created_at),
		disabledAt: isoTime(row.disabled_at),
		ownDatabase: row.database === null ? null : shownAddress(row.database),
	}));
}

/** Addresses of the accounts' own database servers, including passwords, by account number. */
export async function selectOwnDatabases(database: ControlDatabase): Promise<Map<number, string>> {
	const rows = await database
		.selectFrom('account')
		.select(['id', 'database'])
		.where('database', 'is not', null)
		.execute();
	return new Map(rows.map((row) => [row.id, row.database as string]));
}

type SettingColumns = Pick<
	ControlTables['account'],
	'origins' | 'explains' | 'channel_rules' | 'timezone' | 'payment_providers' | 'renewal_days' | 'currency'
>;

/** The settings in a row of `account`. */
export function accountSettings(row: SettingColumns): AccountSettings {
	return {
		origins: JSON.parse(row.origins),
		explains: row.explains === 1,
		channelRules: JSON.parse(row.channel_rules),
		timezone: row.timezone,
		paymentProviders: JSON.parse(row.payment_providers),
		renewalDays: JSON.parse(row.renewal_days),
		currency: row.currency,
	};
}

function columnsOf(settings: AccountSettings): SettingColumns {
	return {
		origins: JSON.stringify(settings.origins),
		explains: settings.explains ? 1 : 0,
		channel_rules: JSON.stringify(settings.channelRules),
		timezone: settings.timezone,
		payment_providers: JSON.stringify(settings.paymentProviders),
		renewal_days: JSON.stringify(settings.renewalDays),
		currency: settings.currency,
	};
}

/** @throws OperatorError where there is none */
export async function selectAccount(database: ControlDatabase, aid: string): Promise<Account> {
	const [account] = await selectAccounts(database, aid);
	if (!account) throw new OperatorError(`There is no account ${aid}; 'caskade account list' shows all.`);
	return account;
}

/** Disabling twice keeps the first time. */
export async function setAccountDisabled(
	database: ControlDatabase,
	aid: string,
	disabled: boolean,
	nowMs: number,
): Promise<void> {
	await database
		.updateTable('account')
		.set({ disabled_at: disabled ? nowMs : null })
		.where('aid', '=', aid)
		.where('disabled_at', disabled ? 'is' : 'is not', null)
		.execute();
}

/** Fields that are left out keep their value. */
export async function updateAccount(
	database: ControlDatabase,
	aid: string,
	changes: Partial<AccountSettings>,
): Promise<void> {
	const account = await selectAccount(database, aid);
	await database
		.updateTable('account')
		.set(columnsOf({ ...account, ...changes }))
		.where('aid', '=', aid)
		.execute();
}

/** Deletes an account and all rows that are about it. @throws OperatorError where there is none */
export async function deleteAccountRows(database: ControlDatabase, aid: string): Promise<void> {
	const { id } = await selectAccount(database, aid);
	for (const table of ['revocation', 'goal', 'segment', 'model', 'webhook', 'grant'] as const)
		await database.deleteFrom(table).where('account_id', '=', id).execute();
	await database.updateTable('audit').set({ about: null }).where('aid', '=', aid).execute();
	await database.deleteFrom('account').where('id', '=', id).execute();
}

/** The account's secret for hashing visitors' names in imports. Created on first use. */
export async function importSecret(database: ControlDatabase, id: number): Promise<string> {
	await database
		.updateTable('account')
		.set({ import_secret: randomBytes(32).toString('base64url') })
		.where('id', '=', id)
		.where('import_secret', 'is', null)
		.execute();
	const row = await database
		.selectFrom('account')
		.select('import_secret')
		.where('id', '=', id)
		.executeTakeFirstOrThrow();
	return row.import_secret as string;
}

/** @throws OperatorError where there is no such client */
export async function clientId(database: ControlDatabase, name: string): Promise<number> {
	const client = await database.selectFrom('client').select('id').where('name', '=', name).executeTakeFirst();
	if (!client)
		throw new OperatorError(
			`There is no client ${name}; 'caskade account create AID --client ${name}' creates it.`,
		);
	return client.id;
}

/** What was last learned about cadences; null if nothing was. */
export async function selectCadences(
	database: ControlDatabase,
	accountId: number,
): Promise<CadenceTable | null> {
	const row = await database
		.selectFrom('account')
		.select('cadences')
		.where('id', '=', accountId)
		.executeTakeFirst();
	return row?.cadences ? JSON.parse(row.cadences) : null;
}

export async function updateCadences(
	database: ControlDatabase,
	accountId: number,
	table: CadenceTable,
): Promise<void> {
	await database
		.updateTable('account')
		.set({ cadences: JSON.stringify(table) })
		.where('id', '=', accountId)
		.execute();
}
