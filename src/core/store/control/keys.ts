import { type RawBuilder, sql } from 'kysely';
import { hashApiKey, type KeyScope, newApiKey } from '../../domain/api-key.ts';
import { monthAt } from '../../domain/usage-plan.ts';
import { OperatorError } from '../../errors.ts';
import { isoTime } from '../../format/iso-time.ts';
import { clientId } from './accounts.ts';
import { insertRows, nextSeq, selectRows, updateRows } from './rows.ts';
import { type ControlDatabase, type ControlDoors, given } from './tables.ts';

export interface ApiKey {
	readonly id: string;
	readonly client: string;
	/** What people call it. */
	readonly name: string | null;
	readonly plan: string;
	readonly scope: KeyScope;
	readonly createdAt: string;
	/** Its latest request, as of a few seconds ago. */
	readonly lastUsedAt: string | null;
	readonly expiresAt: string | null;
	readonly revokedAt: string | null;
}

/** Whether requests with the key are let in, unless its client is disabled. */
export function isUsable({ revokedAt, expiresAt }: ApiKey, nowMs: number): boolean {
	return revokedAt === null && (expiresAt === null || Date.parse(expiresAt) > nowMs);
}

/** The same, in SQL. */
export function areUsable(nowMs: number): RawBuilder<boolean> {
	return sql<boolean>`(api_key.revoked_at IS NULL AND (api_key.expires_at IS NULL OR api_key.expires_at > ${nowMs}))`;
}

interface KeyOptions {
	readonly scope?: KeyScope | undefined;
	readonly name?: string | null | undefined;
	readonly expiresInMs?: number | undefined;
}

/** A newly issued key, including its secret. */
export interface IssuedKey extends Omit<ApiKey, 'createdAt' | 'lastUsedAt' | 'revokedAt'> {
	readonly key: string;
}

/** An API key's use of the current month's quota. */
export interface KeyUsage {
	readonly key: string;
	readonly client: string;
	readonly plan: string;
	readonly month: string;
	readonly quota: number;
	/** Requests admitted, as reported by the servers. */
	readonly used: number;
	/** Leased by servers that have crashed since. It cannot be used any more, and some of it may have been used. */
	readonly forfeited: number;
	readonly remaining: number;
	/** When the quota is reset. */
	readonly resetsAt: string;
}

/** Selects keys; all if empty. */
interface KeyFilter {
	readonly id?: string;
	readonly client?: string | undefined;
	readonly plan?: string;
}

/** In order of creation. @throws OperatorError where there is no such client */
export async function selectKeys(
	database: ControlDatabase,
	{ id, client, plan }: KeyFilter = {},
): Promise<ApiKey[]> {
	if (client !== undefined) await clientId(database, client);
	const rows = await database
		.selectFrom('api_key')
		.innerJoin('client', 'client.id', 'api_key.client_id')
		.selectAll('api_key')
		.select('client.name as client')
		.where(({ and }) => and(given({ 'api_key.id': id, 'client.name': client, 'api_key.plan': plan })))
		.orderBy('api_key.seq')
		.execute();
	return rows.map((row) => ({
		id: row.id,
		client: row.client,
		name: row.name,
		plan: row.plan,
		scope: row.scope,
		createdAt: isoTime(row.created_at),
		lastUsedAt: isoTime(row.last_used_at),
		expiresAt: isoTime(row.expires_at),
		revokedAt: isoTime(row.revoked_at),
	}));
}

/** Deletes keys with what was counted of their use. They must not be usable: a server might count more. */
export async function deleteKeys(database: ControlDatabase, keys: readonly ApiKey[]): Promise<void> {
	const ids = keys.map(({ id }) => id);
	if (ids.length === 0) return;
	// In this order, since a server that settles what is left of a lease has locked the usage.
	await database.deleteFrom('usage').where('key_id', 'in', ids).execute();
	await database.deleteFrom('quota_lease').where('key_id', 'in', ids).execute();
	await database.deleteFrom('api_key').where('id', 'in', ids).execute();
}

/** A few names, for a sentence. */
export function firstOf(names: readonly string[]): string {
	return `${names.slice(0, 3).join(', ')}${names.length > 3 ? ` and ${names.length - 3} more` : ''}`;
}

/** Selects the keys; all if empty. */
interface UsageFilter {
	readonly client?: string | undefined;
	readonly keyId?: string | undefined;
}

/** This month's usage of every key that is usable or was used, and the leases. Consistent within a transaction. */
async function selectUsage(
	database: ControlDatabase,
	nowMs: number,
	month: string,
	{ client, keyId }: UsageFilter,
) {
	if (client !== undefined) await clientId(database, client);
	const keys = await database
		.selectFrom('api_key')
		.innerJoin('client', 'client.id', 'api_key.client_id')
		.innerJoin('plan', 'plan.name', 'api_key.plan')
		.leftJoin('usage', (join) => join.onRef('usage.key_id', '=', 'api_key.id').on('usage.month', '=', month))
		.select([
			'api_key.id as key',
			'client.name as client',
			'api_key.plan',
			'plan.quota_per_month as quota',
			'usage.leased',
			'usage.used',
		])
		.where(({ or, eb }) => or([areUsable(nowMs), eb('usage.used', '>', 0)]))
		.where(({ and }) => and(given({ 'client.name': client, 'api_key.id': keyId })))
		.orderBy('api_key.seq')
		.execute();
	const leases = await selectRows(database, 'quota_lease', given({ month, key_id: keyId }));
	return { keys, leases };
}

/**
 * @param options.liveServers the servers whose leases are still in use; `all` if none can have died
 * @param options.requirePlan throws an OperatorError where there is no plan of that name
 */
export function keyStore(
	{ database, change, now }: ControlDoors,
	options: {
		liveServers: () => Promise<readonly string[] | 'all'>;
		requirePlan: (database: ControlDatabase, name: string) => Promise<unknown>;
	},
) {
	const usage = async (filter: UsageFilter): Promise<KeyUsage[]> => {
		const month = monthAt(now());
		const { keys, leases } = await database
			.transaction()
			.setIsolationLevel('repeatable read')
			.execute((transaction) => selectUsage(transaction, now(), month.name, filter));
		// Queried after the leases, so that a server that has just started does not count as dead.
		const live = await options.liveServers();
		const held = Map.groupBy(
			leases.filter(({ server_id }) => live === 'all' || live.includes(server_id)),
			({ key_id }) => key_id,
		);
		return keys.map(({ key, client, plan, quota, leased, used: reported }) => {
			const used = reported ?? 0;
			const inHand = (held.get(key) ?? []).reduce((sum, lease) => sum + lease.leased - lease.used, 0);
			const forfeited = (leased ?? 0) - used - inHand;
			return {
				key,
				client,
				plan,
				month: month.name,
				quota,
				used,
				forfeited,
				remaining: Math.max(0, quota - used - forfeited),
				resetsAt: isoTime(month.endMs),
			};
		});
	};
	return {
		/** All keys in order of creation, or those of a client. @throws OperatorError where there is no such client */
		keys: (client?: string) => selectKeys(database, { client }),

		/** Issues a key. The key itself is returned only here. @throws OperatorError where there is no such client or plan */
		issueKey: (
			client: string,
			plan: string,
			{ scope = 'upload', name = null, expiresInMs }: KeyOptions = {},
		): Promise<IssuedKey> =>
			change(async (transaction) => {
				await options.requirePlan(transaction, plan);
				const { id, key } = newApiKey();
				const nowMs = now();
				const expiresAtMs = expiresInMs === undefined ? null : nowMs + expiresInMs;
				await insertRows(transaction, 'api_key', {
					id,
					hash: hashApiKey(key),
					client_id: await clientId(transaction, client),
					plan,
					created_at: nowMs,
					revoked_at: null,
					seq: await nextSeq(transaction, 'api_key'),
					scope,
					name,
					expires_at: expiresAtMs,
				});
				return { id, key, client, name, plan, scope, expiresAt: isoTime(expiresAtMs) };
			}),

		/** Revoking twice is no error. @throws OperatorError where there is no such key */
		revokeKey: (id: string): Promise<ApiKey> =>
			change(async (transaction) => {
				await updateRows(transaction, 'api_key', { id, revoked_at: null }, { revoked_at: now() });
				const [key] = await selectKeys(transaction, { id });
				if (!key) throw new OperatorError(`There is no key ${id}; 'caskade key list' shows all.`);
				return key;
			}),

		/** This month's usage of every key that is usable or was used, or of those of a client. */
		usage: (client?: string) => usage({ client }),

		/** This month's usage of one key; undefined where there is none. */
		async usageOf(keyId: string): Promise<KeyUsage | undefined> {
			const [ofKey] = await usage({ keyId });
			return ofKey;
		},
	};
}
