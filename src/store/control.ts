import type { Generated, Kysely, Selectable, Transaction } from 'kysely';
import { hashApiKey, newApiKey } from '../access/api-key.ts';
import { monthAt, type UsagePlan } from '../access/usage-plan.ts';
import { OperatorError } from './store.ts';

/** The tables of the control database; see `migrations/<engine>/control/`. */
export interface ControlTables {
	revision: { id: number; number: number };
	client: { id: GeneratedId; name: string; created_at: number };
	account: {
		id: GeneratedId;
		aid: string;
		client_id: number;
		origins: string;
		created_at: number;
		disabled_at: number | null;
	};
	plan: {
		name: string;
		rate_per_second: number;
		burst: number;
		quota_per_month: number;
		timeout_ms: number;
		max_events: number;
		created_at: number;
	};
	api_key: {
		id: string;
		hash: string;
		client_id: number;
		plan: string;
		created_at: number;
		revoked_at: number | null;
	};
	usage: { key_id: string; month: string; leased: number; used: number };
}

type GeneratedId = Generated<number>;

/** The tables that make up what an operator has set up and what was used of it; the rest a store makes by itself. */
export type ControlContent = {
	readonly [Table in 'client' | 'account' | 'plan' | 'api_key' | 'usage']: readonly Selectable<
		ControlTables[Table]
	>[];
};

export interface Account {
	readonly id: number;
	readonly aid: string;
	readonly client: string;
	readonly origins: readonly string[];
	readonly createdAt: string;
	readonly disabledAt: string | null;
}

export interface ApiKey {
	readonly id: string;
	readonly client: string;
	readonly plan: string;
	readonly createdAt: string;
	readonly revokedAt: string | null;
}

/** An API key's use of the current month's quota. */
export interface KeyUsage {
	readonly key: string;
	readonly client: string;
	readonly plan: string;
	readonly month: string;
	readonly quota: number;
	readonly used: number;
	readonly remaining: number;
	/** When the quota starts anew. */
	readonly resetsAt: string;
}

/** Everything a server must know to admit a request, as of one revision. */
export interface AccessSnapshot {
	readonly revision: number;
	/** Keys that may be used, by the SHA-256 of the key. */
	readonly keys: ReadonlyMap<string, { id: string; hash: string; clientId: number; plan: UsagePlan }>;
	/** Accounts that may be written to, by `aid`. */
	readonly accounts: ReadonlyMap<string, { id: number; clientId: number }>;
}

const isoTime = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());

function toPlan(row: ControlTables['plan']): UsagePlan {
	return {
		name: row.name,
		ratePerSecond: row.rate_per_second,
		burst: row.burst,
		quotaPerMonth: row.quota_per_month,
		timeoutMs: row.timeout_ms,
		maxEvents: row.max_events,
	};
}

function fromPlan(plan: UsagePlan): Omit<ControlTables['plan'], 'created_at'> {
	return {
		name: plan.name,
		rate_per_second: plan.ratePerSecond,
		burst: plan.burst,
		quota_per_month: plan.quotaPerMonth,
		timeout_ms: plan.timeoutMs,
		max_events: plan.maxEvents,
	};
}

/** Clients, accounts, keys, plans and usage. Takes the time as a value, so that tests can choose it. */
export class ControlStore {
	readonly #database: Kysely<ControlTables>;
	readonly #now: () => number;

	constructor(database: Kysely<ControlTables>, now: () => number = Date.now) {
		this.#database = database;
		this.#now = now;
	}

	async revision(): Promise<number> {
		const row = await this.#database.selectFrom('revision').select('number').executeTakeFirstOrThrow();
		return row.number;
	}

	/** The one way to change what running servers know: they notice the new revision. */
	async #change<T>(fn: (transaction: Transaction<ControlTables>) => Promise<T>): Promise<T> {
		return this.#database.transaction().execute(async (transaction) => {
			// First, so that the write lock is taken before anything is read.
			await transaction
				.updateTable('revision')
				.set(({ eb }) => ({ number: eb('number', '+', 1) }))
				.execute();
			return fn(transaction);
		});
	}

	async accessSnapshot(): Promise<AccessSnapshot> {
		return this.#database.transaction().execute(async (transaction) => {
			const { number: revision } = await transaction
				.selectFrom('revision')
				.select('number')
				.executeTakeFirstOrThrow();
			const plans = new Map(
				(await transaction.selectFrom('plan').selectAll().execute()).map((row) => [row.name, toPlan(row)]),
			);
			const keys = await transaction
				.selectFrom('api_key')
				.selectAll()
				.where('revoked_at', 'is', null)
				.execute();
			const accounts = await transaction
				.selectFrom('account')
				.select(['id', 'aid', 'client_id'])
				.where('disabled_at', 'is', null)
				.execute();
			return {
				revision,
				keys: new Map(
					keys.map((key) => [
						key.hash,
						{ id: key.id, hash: key.hash, clientId: key.client_id, plan: plans.get(key.plan) as UsagePlan },
					]),
				),
				accounts: new Map(
					accounts.map((account) => [account.aid, { id: account.id, clientId: account.client_id }]),
				),
			};
		});
	}

	/** Everything, as of one moment; for whoever copies or compares it. */
	async content(): Promise<ControlContent> {
		return this.#database
			.transaction()
			.setIsolationLevel('repeatable read')
			.execute(async (transaction) => ({
				client: await transaction.selectFrom('client').selectAll().execute(),
				account: await transaction.selectFrom('account').selectAll().execute(),
				plan: await transaction.selectFrom('plan').selectAll().execute(),
				api_key: await transaction.selectFrom('api_key').selectAll().execute(),
				usage: await transaction.selectFrom('usage').selectAll().execute(),
			}));
	}

	async hasClients(): Promise<boolean> {
		return (await this.#database.selectFrom('client').select('id').limit(1).execute()).length > 0;
	}

	/**
	 * Adds an account, and its client where there is none of that name. The account can be written to once
	 * `makeDatabase` has made its database.
	 * @throws OperatorError where the account exists
	 */
	async createAccount(
		account: { aid: string; client: string; origins: readonly string[] },
		makeDatabase: (accountId: number) => Promise<void>,
	): Promise<Account> {
		await this.#change(async (transaction) => {
			const existing = await transaction
				.selectFrom('account')
				.select('id')
				.where('aid', '=', account.aid)
				.executeTakeFirst();
			if (existing) throw new OperatorError(`Account ${account.aid} exists already.`);
			await transaction
				.insertInto('client')
				.values({ name: account.client, created_at: this.#now() })
				.onConflict((conflict) => conflict.column('name').doNothing())
				.execute();
			const client = await transaction
				.selectFrom('client')
				.select('id')
				.where('name', '=', account.client)
				.executeTakeFirstOrThrow();
			const { id } = await transaction
				.insertInto('account')
				.values({
					aid: account.aid,
					client_id: client.id,
					origins: JSON.stringify(account.origins),
					created_at: this.#now(),
					disabled_at: null,
				})
				.returning('id')
				.executeTakeFirstOrThrow();
			await makeDatabase(id);
		});
		return this.account(account.aid);
	}

	async accounts(aid?: string): Promise<Account[]> {
		let query = this.#database
			.selectFrom('account')
			.innerJoin('client', 'client.id', 'account.client_id')
			.select([
				'account.id',
				'account.aid',
				'client.name as client',
				'account.origins',
				'account.created_at',
				'account.disabled_at',
			])
			.orderBy('account.id');
		if (aid !== undefined) query = query.where('account.aid', '=', aid);
		return (await query.execute()).map((row) => ({
			id: row.id,
			aid: row.aid,
			client: row.client,
			origins: JSON.parse(row.origins),
			createdAt: new Date(row.created_at).toISOString(),
			disabledAt: isoTime(row.disabled_at),
		}));
	}

	/** @throws OperatorError where there is none */
	async account(aid: string): Promise<Account> {
		const [account] = await this.accounts(aid);
		if (!account) throw new OperatorError(`There is no account ${aid}; 'caskade account list' shows all.`);
		return account;
	}

	async setAccountDisabled(aid: string, disabled: boolean): Promise<Account> {
		await this.account(aid);
		await this.#change((transaction) =>
			transaction
				.updateTable('account')
				.set({ disabled_at: disabled ? this.#now() : null })
				.where('aid', '=', aid)
				.where('disabled_at', disabled ? 'is' : 'is not', null)
				.execute(),
		);
		return this.account(aid);
	}

	async plans(): Promise<UsagePlan[]> {
		return (await this.#database.selectFrom('plan').selectAll().orderBy('name').execute()).map(toPlan);
	}

	/** @throws OperatorError where there is none */
	async plan(name: string): Promise<UsagePlan> {
		const plan = (await this.plans()).find((candidate) => candidate.name === name);
		if (!plan) throw new OperatorError(`There is no plan ${name}; 'caskade plan list' shows all.`);
		return plan;
	}

	async createPlan(plan: UsagePlan): Promise<UsagePlan> {
		await this.#change(async (transaction) => {
			const { numInsertedOrUpdatedRows } = await transaction
				.insertInto('plan')
				.values({ ...fromPlan(plan), created_at: this.#now() })
				.onConflict((conflict) => conflict.column('name').doNothing())
				.executeTakeFirstOrThrow();
			if (numInsertedOrUpdatedRows !== 1n)
				throw new OperatorError(`Plan ${plan.name} exists already; 'caskade plan update' changes it.`);
		});
		return this.plan(plan.name);
	}

	/** Changes a plan for all keys that are tied to it. */
	async updatePlan(plan: UsagePlan): Promise<UsagePlan> {
		await this.plan(plan.name);
		await this.#change((transaction) =>
			transaction.updateTable('plan').set(fromPlan(plan)).where('name', '=', plan.name).execute(),
		);
		return this.plan(plan.name);
	}

	/** Issues a key. This is the only time that the key itself is seen. */
	async issueKey(
		client: string,
		plan: string,
	): Promise<{ id: string; key: string; client: string; plan: string }> {
		await this.plan(plan);
		const clientId = await this.#clientId(client);
		const { id, key } = newApiKey();
		await this.#change(async (transaction) => {
			await transaction
				.insertInto('api_key')
				.values({
					id,
					hash: hashApiKey(key),
					client_id: clientId,
					plan,
					created_at: this.#now(),
					revoked_at: null,
				})
				.execute();
		});
		return { id, key, client, plan };
	}

	async keys(id?: string): Promise<ApiKey[]> {
		let query = this.#database
			.selectFrom('api_key')
			.innerJoin('client', 'client.id', 'api_key.client_id')
			.select([
				'api_key.id',
				'client.name as client',
				'api_key.plan',
				'api_key.created_at',
				'api_key.revoked_at',
			])
			.orderBy('api_key.created_at')
			.orderBy('api_key.id');
		if (id !== undefined) query = query.where('api_key.id', '=', id);
		return (await query.execute()).map((row) => ({
			id: row.id,
			client: row.client,
			plan: row.plan,
			createdAt: new Date(row.created_at).toISOString(),
			revokedAt: isoTime(row.revoked_at),
		}));
	}

	/** @throws OperatorError where there is no such key. Revoking twice is no error. */
	async revokeKey(id: string): Promise<ApiKey> {
		const find = async () => {
			const [key] = await this.keys(id);
			if (!key) throw new OperatorError(`There is no key ${id}; 'caskade key list' shows all.`);
			return key;
		};
		await find();
		await this.#change((transaction) =>
			transaction
				.updateTable('api_key')
				.set({ revoked_at: this.#now() })
				.where('id', '=', id)
				.where('revoked_at', 'is', null)
				.execute(),
		);
		return find();
	}

	/** @throws OperatorError where there is no such client */
	async #clientId(name: string): Promise<number> {
		const client = await this.#database
			.selectFrom('client')
			.select('id')
			.where('name', '=', name)
			.executeTakeFirst();
		if (!client)
			throw new OperatorError(
				`There is no client ${name}; 'caskade account create AID --client ${name}' makes it.`,
			);
		return client.id;
	}

	/** This month's usage of every key that may be used or was used. */
	async usage(client?: string): Promise<KeyUsage[]> {
		if (client !== undefined) await this.#clientId(client);
		const nowMs = this.#now();
		const month = monthAt(nowMs);
		let query = this.#database
			.selectFrom('api_key')
			.innerJoin('client', 'client.id', 'api_key.client_id')
			.innerJoin('plan', 'plan.name', 'api_key.plan')
			.leftJoin('usage', (join) =>
				join.onRef('usage.key_id', '=', 'api_key.id').on('usage.month', '=', month.name),
			)
			.select([
				'api_key.id',
				'client.name as client',
				'api_key.plan',
				'plan.quota_per_month as quota',
				'usage.used',
			])
			.where(({ or, eb }) => or([eb('api_key.revoked_at', 'is', null), eb('usage.used', '>', 0)]))
			.orderBy('api_key.created_at')
			.orderBy('api_key.id');
		if (client !== undefined) query = query.where('client.name', '=', client);
		return (await query.execute()).map((row) => ({
			key: row.id,
			client: row.client,
			plan: row.plan,
			month: month.name,
			quota: row.quota,
			used: row.used ?? 0,
			remaining: Math.max(0, row.quota - (row.used ?? 0)),
			resetsAt: new Date(month.endMs).toISOString(),
		}));
	}
}
