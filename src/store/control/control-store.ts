import type { Transaction } from 'kysely';
import type { CaskScope } from '../../domain/cask-scope.ts';
import type { Goal, GoalChange } from '../../domain/goal.ts';
import type { ModelLevels } from '../../domain/model-levels.ts';
import type { Segment } from '../../domain/segment.ts';
import type { SigningKey } from '../../domain/signing-key.ts';
import type { CadenceTable } from '../../domain/subscription-cadence.ts';
import type { UsagePlan } from '../../domain/usage-plan.ts';
import type { ActiveWebhook, DisabledReason, Webhook } from '../../domain/webhook.ts';
import * as accounts from './accounts.ts';
import { AuditStore } from './audit.ts';
import * as casks from './casks.ts';
import * as clients from './clients.ts';
import * as goals from './goals.ts';
import * as keys from './keys.ts';
import * as models from './models.ts';
import { PeopleStore } from './people.ts';
import * as plans from './plans.ts';
import * as segments from './segments.ts';
import { SessionStore } from './sessions.ts';
import { type AccessSnapshot, selectSnapshot } from './snapshot.ts';
import type { ControlContent, ControlDatabase, ControlTables } from './tables.ts';
import * as webhooks from './webhooks.ts';

export type { Account, AccountSettings, NewAccount } from './accounts.ts';
export type { AuditEntry, AuditFilter, StoredAuditEntry } from './audit.ts';
export type { Client } from './clients.ts';
export { type ApiKey, type IssuedKey, isUsable, type KeyUsage } from './keys.ts';
export type { ModelName, StoredModel } from './models.ts';
export type { Credentials, Identity, StoredPerson } from './people.ts';
export { type KnownSession, type ListedSession, sessionId } from './sessions.ts';
export type { AccessSnapshot, KnownAccount } from './snapshot.ts';
export type { ControlContent, ControlTables } from './tables.ts';
export type { StoredWebhook, WebhookSecret } from './webhooks.ts';

/** The servers whose quota leases are still in use; `all` if none can have died. */
export type LiveServers = () => Promise<readonly string[] | 'all'>;

/**
 * Access to the control database: clients, accounts, plans, keys, goals, segments, models, signing keys, revocations and people.
 * The queries are in the other files of this folder, one per noun. Takes the time as a value, so that tests can set it.
 */
export class ControlStore {
	readonly people: PeopleStore;
	readonly sessions: SessionStore;
	readonly audit: AuditStore;
	readonly #database: ControlDatabase;
	readonly #now: () => number;
	readonly #readClock: () => Promise<void>;
	readonly #liveServers: LiveServers;
	readonly #onOwnDatabases: (addresses: ReadonlyMap<number, string>) => void;

	/** @param options.onOwnDatabases called whenever accounts are read, with those that have their own server */
	constructor(
		database: ControlDatabase,
		options: {
			now: () => number;
			/** Refreshes `now`, if that requires a query. */
			readClock?: () => Promise<void>;
			liveServers: LiveServers;
			onOwnDatabases?: (addresses: ReadonlyMap<number, string>) => void;
		},
	) {
		this.#database = database;
		this.#now = options.now;
		this.#readClock = options.readClock ?? (async () => {});
		this.#liveServers = options.liveServers;
		this.#onOwnDatabases = options.onOwnDatabases ?? (() => {});
		const doors = { database, now: this.#now, change: this.#change.bind(this) };
		this.people = new PeopleStore(doors);
		this.sessions = new SessionStore(doors);
		this.audit = new AuditStore(doors);
	}

	async revision(): Promise<number> {
		await this.#readClock();
		const row = await this.#database.selectFrom('revision').select('number').executeTakeFirstOrThrow();
		return row.number;
	}

	/** Every change of data that running servers cache goes through this: it bumps the revision that they poll. */
	async #change<T>(fn: (transaction: Transaction<ControlTables>) => Promise<T>): Promise<T> {
		await this.#readClock();
		return this.#database.transaction().execute(async (transaction) => {
			// First, to take the write lock before anything is read.
			await transaction
				.updateTable('revision')
				.set(({ eb }) => ({ number: eb('number', '+', 1) }))
				.execute();
			return fn(transaction);
		});
	}

	async accessSnapshot(): Promise<AccessSnapshot> {
		const [snapshot, ownDatabases] = await this.#database
			.transaction()
			.setIsolationLevel('repeatable read')
			.execute(
				async (transaction) =>
					[
						await selectSnapshot(transaction, this.#now()),
						await accounts.selectOwnDatabases(transaction),
					] as const,
			);
		this.#onOwnDatabases(ownDatabases);
		return snapshot;
	}

	/** Addresses of the accounts' own database servers, including passwords, by account number. */
	ownDatabases(): Promise<Map<number, string>> {
		return accounts.selectOwnDatabases(this.#database);
	}

	/** A consistent snapshot of the whole control database, for copying and comparing. */
	async content(): Promise<ControlContent> {
		return this.#database
			.transaction()
			.setIsolationLevel('repeatable read')
			.execute(async (transaction) => ({
				client: await transaction.selectFrom('client').selectAll().orderBy('id').execute(),
				account: await transaction.selectFrom('account').selectAll().orderBy('id').execute(),
				plan: await transaction.selectFrom('plan').selectAll().execute(),
				api_key: await transaction.selectFrom('api_key').selectAll().execute(),
				usage: await transaction.selectFrom('usage').selectAll().execute(),
				signing_key: await transaction.selectFrom('signing_key').selectAll().execute(),
				revocation: await transaction.selectFrom('revocation').selectAll().execute(),
				goal: await transaction.selectFrom('goal').selectAll().execute(),
				segment: await transaction.selectFrom('segment').selectAll().execute(),
				model: await transaction.selectFrom('model').selectAll().execute(),
				webhook: await transaction.selectFrom('webhook').selectAll().execute(),
				user: await transaction.selectFrom('user').selectAll().execute(),
				grant: await transaction.selectFrom('grant').selectAll().execute(),
				recovery_code: await transaction.selectFrom('recovery_code').selectAll().execute(),
				audit: await transaction.selectFrom('audit').selectAll().execute(),
			}));
	}

	clients(): Promise<clients.Client[]> {
		return clients.selectClients(this.#database, this.#now());
	}

	/** Disabling twice keeps the first time. @throws OperatorError where there is none */
	setClientDisabled(name: string, disabled: boolean): Promise<clients.Client> {
		return this.#change((transaction) => clients.setClientDisabled(transaction, name, disabled, this.#now()));
	}

	/** @throws OperatorError where there is none, or it has accounts or usable keys */
	deleteClient(name: string): Promise<void> {
		return this.#change((transaction) => clients.deleteClientRows(transaction, name, this.#now()));
	}

	async hasClients(): Promise<boolean> {
		return (await this.#database.selectFrom('client').select('id').limit(1).execute()).length > 0;
	}

	/**
	 * Adds an account, and its client if that does not exist. The account can be used once `makeDatabase` has created its
	 * database.
	 * @throws OperatorError where the account exists
	 */
	createAccount(
		account: accounts.NewAccount,
		makeDatabase: (accountId: number) => Promise<void>,
	): Promise<accounts.Account> {
		return this.#change(async (transaction) => {
			await makeDatabase(await accounts.insertAccount(transaction, account, this.#now()));
			return accounts.selectAccount(transaction, account.aid);
		});
	}

	async accounts(): Promise<accounts.Account[]> {
		await this.#readClock();
		const all = await accounts.selectAccounts(this.#database);
		this.#onOwnDatabases(await this.ownDatabases());
		return all;
	}

	/** @throws OperatorError where there is none */
	async account(aid: string): Promise<accounts.Account> {
		const account = await accounts.selectAccount(this.#database, aid);
		this.#onOwnDatabases(await this.ownDatabases());
		return account;
	}

	/** Disabling twice keeps the first time. @throws OperatorError where there is none */
	setAccountDisabled(aid: string, disabled: boolean): Promise<accounts.Account> {
		return this.#change(async (transaction) => {
			await accounts.setAccountDisabled(transaction, aid, disabled, this.#now());
			return accounts.selectAccount(transaction, aid);
		});
	}

	/** Deletes all rows about an account; its database is the store's. @throws OperatorError where there is none */
	deleteAccount(aid: string): Promise<void> {
		return this.#change((transaction) => accounts.deleteAccountRows(transaction, aid));
	}

	/** Whether an account exists and is not disabled. While it is being deleted it is disabled, and its database may be gone. */
	async isAccountInUse(accountId: number): Promise<boolean> {
		const query = this.#database.selectFrom('account').select('id').where('id', '=', accountId);
		return (await query.where('disabled_at', 'is', null).execute()).length > 0;
	}

	/** The account's secret for hashing visitors' names in imports. Created on first use. */
	importSecret(accountId: number): Promise<string> {
		return this.#change((transaction) => accounts.importSecret(transaction, accountId));
	}

	/**
	 * Fields that are left out keep their value.
	 * @throws OperatorError where there is none
	 */
	updateAccount(aid: string, changes: Partial<accounts.AccountSettings>): Promise<accounts.Account> {
		return this.#change(async (transaction) => {
			await accounts.updateAccount(transaction, aid, changes);
			return accounts.selectAccount(transaction, aid);
		});
	}

	plans(): Promise<UsagePlan[]> {
		return plans.selectPlans(this.#database);
	}

	/** @throws OperatorError where there is none */
	plan(name: string): Promise<UsagePlan> {
		return plans.selectPlan(this.#database, name);
	}

	/** @throws OperatorError where there is one of that name */
	createPlan(plan: UsagePlan): Promise<UsagePlan> {
		return this.#change(async (transaction) => {
			await plans.insertPlan(transaction, plan, this.#now());
			return plans.selectPlan(transaction, plan.name);
		});
	}

	/** Changes a plan for all keys that are tied to it. */
	updatePlan(plan: UsagePlan): Promise<UsagePlan> {
		return this.#change(async (transaction) => {
			await plans.updatePlan(transaction, plan);
			return plans.selectPlan(transaction, plan.name);
		});
	}

	/** @throws OperatorError where there is none, it is the standard one, or it has usable keys */
	deletePlan(name: string): Promise<void> {
		return this.#change((transaction) => plans.deletePlanRows(transaction, name, this.#now()));
	}

	/** Whether a server uses this store. */
	async isServed(): Promise<boolean> {
		const live = await this.#liveServers();
		return live === 'all' || live.length > 0;
	}

	/** Issues a key. The key itself is returned only here. */
	issueKey(
		client: string,
		plan: string,
		options: Omit<keys.NewKey, 'client' | 'plan'> = {},
	): Promise<keys.IssuedKey> {
		return this.#change(async (transaction) => {
			await plans.selectPlan(transaction, plan);
			return keys.insertKey(transaction, { client, plan, ...options }, this.#now());
		});
	}

	/** All keys, or those of a client. @throws OperatorError where there is no such client */
	keys(client?: string): Promise<keys.ApiKey[]> {
		return keys.selectKeys(this.#database, { client });
	}

	/** @throws OperatorError where there is no such key. Revoking twice is no error. */
	revokeKey(id: string): Promise<keys.ApiKey> {
		return this.#change((transaction) => keys.revokeKey(transaction, id, this.#now()));
	}

	/** This month's usage of every key that is valid or was used. */
	usage(client?: string): Promise<keys.KeyUsage[]> {
		return this.#usage({ client });
	}

	/** This month's usage of one key; undefined where there is none. */
	async usageOf(keyId: string): Promise<keys.KeyUsage | undefined> {
		const [usage] = await this.#usage({ keyId });
		return usage;
	}

	async #usage(filter: keys.UsageFilter): Promise<keys.KeyUsage[]> {
		const months = await this.#database
			.transaction()
			.setIsolationLevel('repeatable read')
			.execute((transaction) => keys.selectUsage(transaction, this.#now(), filter));
		// Queried after the leases, so that a server that has just started does not count as dead.
		return keys.toUsage(months, await this.#liveServers());
	}

	/** The keys that still verify casks, newest first. */
	signingKeys(): Promise<SigningKey[]> {
		return casks.selectSigningKeys(this.#database, this.#now());
	}

	/** Returns the signing keys, and creates the first one if there is none. Of several processes, only one creates it. */
	async ensureSigningKeys(): Promise<SigningKey[]> {
		const known = await this.signingKeys();
		if (known.length > 0) return known;
		return this.#change(async (transaction) => {
			const made = await casks.selectSigningKeys(transaction, this.#now());
			return made.length > 0 ? made : [await casks.rotateSigningKeys(transaction, this.#now())];
		});
	}

	/** Adds a key that signs from now on. Earlier keys are retired when the casks that they signed have expired. */
	rotateSigningKeys(): Promise<SigningKey> {
		return this.#change((transaction) => casks.rotateSigningKeys(transaction, this.#now()));
	}

	/**
	 * Revokes all casks issued so far to these visitors and visits.
	 * @param subjects each a `vid` or `sid`
	 * @param issuedUpToMs when their last cask was issued, by the issuer's clock
	 */
	revokeCasks(accountId: number, subjects: readonly string[], issuedUpToMs = 0): Promise<void> {
		return this.#change((transaction) =>
			casks.insertRevocations(
				transaction,
				accountId,
				subjects,
				Math.max(this.#now(), issuedUpToMs),
				this.#now(),
			),
		);
	}

	/** When the casks of a visitor or visit were last revoked. */
	casksRevokedAtMs(accountId: number, subject: string): Promise<number | undefined> {
		return casks.selectRevokedAtMs(this.#database, accountId, subject);
	}

	goals(accountId: number): Promise<Goal[]> {
		return goals.selectGoals(this.#database, accountId);
	}

	/** @throws OperatorError where the account has a goal of that name */
	createGoal(accountId: number, goal: Goal): Promise<void> {
		return this.#change((transaction) => goals.insertGoal(transaction, accountId, goal, this.#now()));
	}

	/**
	 * Changes the bands of a goal.
	 * @throws OperatorError where there is none
	 */
	updateGoal(accountId: number, name: string, change: GoalChange): Promise<Goal> {
		return this.#change((transaction) => goals.updateGoal(transaction, accountId, name, change));
	}

	/** Deletes a goal and its models. @throws OperatorError where there is none */
	deleteGoal(accountId: number, name: string): Promise<void> {
		return this.#change((transaction) => goals.deleteGoal(transaction, accountId, name));
	}

	segments(accountId: number): Promise<Segment[]> {
		return segments.selectSegments(this.#database, accountId);
	}

	/** @throws OperatorError where there is none */
	segment(accountId: number, id: string): Promise<Segment> {
		return segments.selectSegment(this.#database, accountId, id);
	}

	/** @throws OperatorError where the account has a segment of that id */
	createSegment(accountId: number, segment: Segment): Promise<void> {
		return this.#change((transaction) =>
			segments.insertSegment(transaction, accountId, segment, this.#now()),
		);
	}

	/** Fields that are left out keep their value. @throws OperatorError where there is none */
	updateSegment(accountId: number, id: string, changes: Partial<Omit<Segment, 'id'>>): Promise<Segment> {
		return this.#change((transaction) => segments.updateSegment(transaction, accountId, id, changes));
	}

	/** @throws OperatorError where there is none */
	deleteSegment(accountId: number, id: string): Promise<void> {
		return this.#change((transaction) => segments.deleteSegment(transaction, accountId, id));
	}

	/** In order of creation, without their bodies. */
	models(accountId: number): Promise<models.StoredModel[]> {
		return models.selectModels(this.#database, accountId);
	}

	/**
	 * Adds a model and gives it the next version of the day. `body` and `report` are JSON.
	 * @param then which version is active from then on: the new one, none (the base rate), or the current one
	 */
	insertModel(
		accountId: number,
		model: { goal: string; scope: CaskScope; body: string; report: string },
		then: 'activate it' | 'activate none' | 'activate nothing' = 'activate nothing',
	): Promise<models.ModelName> {
		return this.#change(async (transaction) => {
			const name = await models.insertModel(transaction, accountId, model, this.#now());
			if (then === 'activate it') await models.activateModel(transaction, accountId, name);
			if (then === 'activate none')
				await models.activateModel(transaction, accountId, { ...name, version: null });
			return name;
		});
	}

	/** Activates a version; `null` activates none, so that the base rate is served. */
	activateModel(
		accountId: number,
		name: { goal: string; scope: CaskScope; version: string | null },
	): Promise<void> {
		return this.#change((transaction) => models.activateModel(transaction, accountId, name));
	}

	/** @throws OperatorError where there is none, or it is active */
	deleteModel(accountId: number, name: models.ModelName): Promise<void> {
		return this.#change((transaction) => models.deleteModel(transaction, accountId, name));
	}

	/** How its predictions compare with outcomes; undefined where none are known yet. */
	modelLevels(accountId: number, name: models.ModelName): Promise<ModelLevels | undefined> {
		return models.selectLevels(this.#database, accountId, name);
	}

	setModelLevels(accountId: number, name: models.ModelName, levels: ModelLevels): Promise<void> {
		return this.#change((transaction) => models.updateLevels(transaction, accountId, name, levels));
	}

	/** The base rates last counted for goals without a model, by goal name. */
	baseRates(accountId: number): Promise<ReadonlyMap<string, readonly number[]>> {
		return goals.selectBaseRates(this.#database, accountId);
	}

	setBaseRates(accountId: number, rates: ReadonlyMap<string, readonly number[]>): Promise<void> {
		return this.#change((transaction) => goals.updateBaseRates(transaction, accountId, rates));
	}

	/** What was last learned about the account's cadences; null if nothing was. */
	cadences(accountId: number): Promise<CadenceTable | null> {
		return accounts.selectCadences(this.#database, accountId);
	}

	setCadences(accountId: number, table: CadenceTable): Promise<void> {
		return this.#change((transaction) => accounts.updateCadences(transaction, accountId, table));
	}

	/** JSON, as it was inserted. @throws OperatorError where there is none */
	async modelBody(accountId: number, name: models.ModelName): Promise<string> {
		return (await models.selectModel(this.#database, accountId, name)).body;
	}

	/** JSON, as it was inserted. @throws OperatorError where there is none */
	async modelReport(accountId: number, name: models.ModelName): Promise<string> {
		return (await models.selectModel(this.#database, accountId, name)).report;
	}

	/** In order of creation, without their secrets. */
	webhooks(accountId: number): Promise<webhooks.StoredWebhook[]> {
		return webhooks.selectWebhooks(this.#database, accountId);
	}

	/** With its secrets. @throws OperatorError where there is none */
	webhook(accountId: number, id: string): Promise<webhooks.StoredWebhook & ActiveWebhook> {
		return webhooks.selectWebhook(this.#database, accountId, id);
	}

	/** The secret is returned only here. @throws OperatorError where the account has too many */
	createWebhook(
		accountId: number,
		webhook: Omit<Webhook, 'id'>,
	): Promise<webhooks.StoredWebhook & webhooks.WebhookSecret> {
		return this.#change((transaction) =>
			webhooks.insertWebhook(transaction, accountId, webhook, this.#now()),
		);
	}

	/** The previous secret signs as well for a day. @throws OperatorError where there is none */
	rotateWebhookSecret(accountId: number, id: string): Promise<webhooks.WebhookSecret> {
		return this.#change((transaction) => webhooks.rotateSecret(transaction, accountId, id, this.#now()));
	}

	/** @throws OperatorError where there is none */
	updateWebhook(
		accountId: number,
		id: string,
		settings: Omit<Webhook, 'id'>,
	): Promise<webhooks.StoredWebhook> {
		return this.#change((transaction) => webhooks.updateWebhook(transaction, accountId, id, settings));
	}

	/** Disables a webhook; null enables it. @throws OperatorError where there is none */
	setWebhookDisabled(
		accountId: number,
		id: string,
		why: DisabledReason | null,
	): Promise<webhooks.StoredWebhook> {
		return this.#change((transaction) =>
			webhooks.setWebhookDisabled(transaction, accountId, id, why, this.#now()),
		);
	}

	/** Since when deliveries fail; null where they succeed. */
	setWebhookFailing(id: string, sinceMs: number | null): Promise<void> {
		return this.#change((transaction) => webhooks.updateFailing(transaction, id, sinceMs));
	}

	/** Makes running servers look for messages that a command has added. */
	announceWebhooks(): Promise<void> {
		return this.#change(async () => {});
	}

	/** What waits for it is left to time. @throws OperatorError where there is none */
	deleteWebhook(accountId: number, id: string): Promise<void> {
		return this.#change((transaction) => webhooks.deleteWebhook(transaction, accountId, id));
	}
}
