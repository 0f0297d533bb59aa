import { randomBytes } from 'node:crypto';
import type { CapabilityNouns } from '../../capability.ts';
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
import { insertGoal } from './goals.ts';
import { insertNote } from './notes.ts';
import { deleteRows, selectRows, updateRows } from './rows.ts';
import { insertSegment } from './segments.ts';
import { type ControlDatabase, type ControlDoors, given } from './tables.ts';

/** Settings that the operator can change at any time. */
export interface AccountSettings {
	/** Web origins whose pages may read scores; empty for all. */
	readonly origins: readonly string[];
	/** Whether pages may ask for the reasons of a score. */
	readonly explains: boolean;
	/** Whether pages may ask which group of an experiment their visitor is in. */
	readonly tellsExperiments: boolean;
	readonly channelRules: readonly ChannelRule[];
	/** For days and months in reports, for example `Europe/London`. */
	readonly timezone: string;
	/** Hosts of payment pages besides the known ones. A return from one of them is not an arrival. */
	readonly paymentProviders: readonly string[];
	/** Days from one renewal to the next, by `evt`. Those of other subscriptions are learned. */
	readonly renewalDays: RenewalDays;
	/** How many days after its due day a renewal is in time, by `evt`. Of other subscriptions, it is by their cadence, or learned. */
	readonly graceDays: Readonly<Record<string, number>>;
	/** An event of no pence with this `evt` cancels its subscription; null if nothing is uploaded that does. */
	readonly cancellationEvt: CancellationEvt;
	/** Amounts are in its minor unit, for example `GBP`. */
	readonly currency: string;
	/** What is believed of the `cid`s and `tid`s that hits show. */
	readonly idTrust: IdTrust;
}

export const defaultSettings: AccountSettings = {
	origins: [],
	explains: false,
	tellsExperiments: false,
	channelRules: [],
	timezone: 'UTC',
	paymentProviders: [],
	renewalDays: {},
	graceDays: {},
	cancellationEvt: null,
	currency: 'GBP',
	idTrust: 'claimed',
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

/** What the marks of an account's erasures are made with. */
export interface Marking {
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
async function insertAccount(
	database: ControlDatabase,
	{ aid, client, ownDatabase, ...settings }: NewAccount,
	nowMs: number,
): Promise<number> {
	const [existing] = await selectRows(database, 'account', { aid });
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
			visitor_secret: randomBytes(32).toString('hex'),
			identity_secret: null,
			previous_identity_secret: null,
			previous_identity_until: null,
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
	const rows = await database
		.selectFrom('account')
		.innerJoin('client', 'client.id', 'account.client_id')
		.selectAll('account')
		.select('client.name as client')
		.where(({ and }) => and(given({ 'account.aid': aid })))
		.orderBy('account.id')
		.execute();
	return rows.map((row) => ({
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

type SettingColumns = ReturnType<typeof columnsOf>;

/** The settings in a row of `account`. */
export function accountSettings(row: SettingColumns): AccountSettings {
	return {
		origins: JSON.parse(row.origins),
		explains: row.explains === 1,
		tellsExperiments: row.tells_experiments === 1,
		channelRules: JSON.parse(row.channel_rules),
		timezone: row.timezone,
		paymentProviders: JSON.parse(row.payment_providers),
		renewalDays: JSON.parse(row.renewal_days),
		graceDays: JSON.parse(row.grace_days),
		cancellationEvt: row.cancellation_evt,
		currency: row.currency,
		idTrust: row.id_trust,
	};
}

function columnsOf(settings: AccountSettings) {
	return {
		origins: JSON.stringify(settings.origins),
		explains: settings.explains ? 1 : 0,
		tells_experiments: settings.tellsExperiments ? 1 : 0,
		channel_rules: JSON.stringify(settings.channelRules),
		timezone: settings.timezone,
		payment_providers: JSON.stringify(settings.paymentProviders),
		renewal_days: JSON.stringify(settings.renewalDays),
		grace_days: JSON.stringify(settings.graceDays),
		cancellation_evt: settings.cancellationEvt,
		currency: settings.currency,
		id_trust: settings.idTrust,
	};
}

/** @throws OperatorError where there is none */
export async function selectAccount(database: ControlDatabase, aid: string): Promise<Account> {
	const [account] = await selectAccounts(database, aid);
	if (!account) throw new OperatorError(`There is no account ${aid}; 'caskade account list' shows all.`);
	return account;
}

/** @throws OperatorError where there is no such client */
export async function clientId(database: ControlDatabase, name: string): Promise<number> {
	const [client] = await selectRows(database, 'client', { name });
	if (!client)
		throw new OperatorError(
			`There is no client ${name}; 'caskade account create AID --client ${name}' creates it.`,
		);
	return client.id;
}

export function accountStore({ database, change, now }: ControlDoors, nouns: readonly CapabilityNouns[]) {
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
			change(async (transaction) => {
				await makeDatabase(await insertAccount(transaction, account, now()));
				return selectAccount(transaction, account.aid);
			}),

		/** Fields that are left out keep their value. @throws OperatorError where there is none */
		updateAccount: (aid: string, changes: Partial<AccountSettings>): Promise<Account> =>
			change(async (transaction) => {
				const account = await selectAccount(transaction, aid);
				await updateRows(transaction, 'account', { aid }, columnsOf({ ...account, ...changes }));
				const { channelRules } = changes;
				if (channelRules && JSON.stringify(channelRules) !== JSON.stringify(account.channelRules))
					await insertNote(transaction, account.id, 'The rules of channels were changed.', now());
				return { ...account, ...changes };
			}),

		/** Disabling twice keeps the first time. @throws OperatorError where there is none */
		setAccountDisabled: (aid: string, disabled: boolean): Promise<Account> =>
			change(async (transaction) => {
				const { disabledAt } = await selectAccount(transaction, aid);
				if (disabled !== (disabledAt !== null))
					await updateRows(transaction, 'account', { aid }, { disabled_at: disabled ? now() : null });
				return selectAccount(transaction, aid);
			}),

		/** Deletes all rows about an account; its database is the store's. @throws OperatorError where there is none */
		deleteAccount: (aid: string): Promise<void> =>
			change(async (transaction) => {
				const { id } = await selectAccount(transaction, aid);
				for (const table of ['revocation', 'goal', 'segment', 'model', 'note'] as const)
					await deleteRows(transaction, table, { account_id: id });
				for (const table of ['upload_answer', 'upload_problem'] as const)
					await deleteRows(transaction, table, { aid });
				for (const { deleteAccount } of nouns) await deleteAccount?.(transaction, { id, aid });
				await deleteRows(transaction, 'account', { id });
			}),

		/** Whether an account exists and is not disabled. While it is being deleted it is disabled, and its database may be gone. */
		isAccountInUse: async (id: number): Promise<boolean> =>
			(await selectRows(database, 'account', { id, disabled_at: null })).length > 0,

		/** The account's secret for hashing visitors' names in imports. Created on first use. */
		importSecret: (id: number): Promise<string> =>
			change(async (transaction) => {
				const secret = randomBytes(32).toString('base64url');
				await updateRows(transaction, 'account', { id, import_secret: null }, { import_secret: secret });
				const [row] = await selectRows(transaction, 'account', { id });
				return row?.import_secret as string;
			}),

		/** The secret that the client's back end signs ids with. Created on first use. */
		identitySecret: (id: number): Promise<string> =>
			change(async (transaction) => {
				const secret = newIdentitySecret();
				await updateRows(transaction, 'account', { id, identity_secret: null }, { identity_secret: secret });
				const [row] = await selectRows(transaction, 'account', { id });
				return row?.identity_secret as string;
			}),

		/** Makes another one. The previous one counts for another day. */
		rotateIdentitySecret: (id: number): Promise<string> =>
			change(async (transaction) => {
				const [row] = await selectRows(transaction, 'account', { id });
				const secret = newIdentitySecret();
				const columns = {
					identity_secret: secret,
					previous_identity_secret: row?.identity_secret ?? null,
					previous_identity_until: now() + previousSecretMs,
				};
				await updateRows(transaction, 'account', { id }, columns);
				return secret;
			}),

		/** The account's secret for deriving visitors, see `domain/derived-vid.ts`. */
		async visitorSecret(id: number): Promise<string> {
			return (await this.marking(id)).secret;
		},

		/** By what an account's erasures are marked: its secret for deriving visitors. */
		async marking(id: number): Promise<Marking> {
			const [row] = await selectRows(database, 'account', { id });
			if (!row) throw new OperatorError(`There is no account with the number ${id}.`);
			return { aid: row.aid, secret: row.visitor_secret };
		},

		/** What was last learned about the account's cadences; null if nothing was. */
		async cadences(id: number): Promise<CadenceTable | null> {
			const [row] = await selectRows(database, 'account', { id });
			return row?.cadences ? JSON.parse(row.cadences) : null;
		},

		setCadences: (id: number, table: CadenceTable) =>
			change((transaction) =>
				updateRows(transaction, 'account', { id }, { cadences: JSON.stringify(table) }),
			),
	};
}
