import { hashApiKey, type KeyScope, newApiKey } from '../../domain/api-key.ts';
import { monthAt } from '../../domain/usage-plan.ts';
import { OperatorError } from '../../errors.ts';
import { isoTime } from '../../format/iso-time.ts';
import {
	ask,
	type ColumnValues,
	having,
	inserting,
	type Raw,
	type Reading,
	raw,
	type Steps,
	select,
	sql,
} from '../steps.ts';
import { clientId } from './account-store.ts';
import { type ControlDoors, nextSeq } from './control-tables.ts';

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

/** `isUsable` in SQL. */
export function areUsable(nowMs: number): Raw {
	return raw(
		'(api_key.revoked_at IS NULL AND (api_key.expires_at IS NULL OR api_key.expires_at > ?))',
		nowMs,
	);
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

interface KeyRow {
	readonly id: string;
	readonly hash: string;
	readonly client_id: number;
	readonly client: string;
	readonly plan: string;
	readonly scope: KeyScope;
	readonly name: string | null;
	readonly created_at: number;
	readonly last_used_at: number | null;
	readonly expires_at: number | null;
	readonly revoked_at: number | null;
}

/** In order of creation. */
export const selectKeyRows = (columns: ColumnValues) =>
	select<KeyRow>`api_key.*, client.name AS client FROM @api_key AS api_key JOIN @client AS client ON client.id = api_key.client_id WHERE ${having(columns)} ORDER BY api_key.seq`;

/** In order of creation. @throws OperatorError where there is no such client */
export function* selectKeys({ id, client, plan }: KeyFilter = {}): Reading<ApiKey[]> {
	if (client !== undefined) yield* clientId(client);
	const rows = yield* selectKeyRows({ 'api_key.id': id, 'client.name': client, plan });
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
export function* deleteKeys(keys: readonly ApiKey[]): Steps<void> {
	const ids = keys.map(({ id }) => id);
	// In this order, since a server that settles what is left of a lease has locked the usage.
	yield [
		sql`DELETE FROM @usage WHERE key_id IN ${ids}`,
		sql`DELETE FROM @quota_lease WHERE key_id IN ${ids}`,
		sql`DELETE FROM @api_key WHERE id IN ${ids}`,
	];
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

interface UsageRow extends Pick<KeyUsage, 'key' | 'client' | 'plan' | 'quota'> {
	readonly leased: number | null;
	readonly used: number | null;
}

interface LeaseRow {
	readonly server_id: string;
	readonly key_id: string;
	readonly leased: number;
	readonly used: number;
}

/** This month's usage of every key that is usable or was used, and the leases. */
function* selectUsage(nowMs: number, month: string, { client, keyId }: UsageFilter) {
	if (client !== undefined) yield* clientId(client);
	return yield* ask({
		keys: select<UsageRow>`api_key.id AS key, client.name AS client, api_key.plan, plan.quota_per_month AS quota, usage.leased, usage.used
			FROM @api_key AS api_key JOIN @client AS client ON client.id = api_key.client_id JOIN @plan AS plan ON plan.name = api_key.plan
			LEFT JOIN @usage AS usage ON usage.key_id = api_key.id AND usage.month = ${month}
			WHERE (${areUsable(nowMs)} OR usage.used > 0) AND ${having({ 'client.name': client, 'api_key.id': keyId })} ORDER BY api_key.seq`,
		leases: select<LeaseRow>`* FROM @quota_lease WHERE ${having({ month, key_id: keyId })}`,
	});
}

/**
 * @param options.liveServers the servers whose leases are still in use; `all` if none can have died
 * @param options.requirePlan throws an OperatorError where there is no plan of that name
 */
export function keyStore(
	{ read, change, now }: ControlDoors,
	options: {
		liveServers: () => Promise<readonly string[] | 'all'>;
		requirePlan: (name: string) => Reading<unknown>;
	},
) {
	const usage = async (filter: UsageFilter): Promise<KeyUsage[]> => {
		const month = monthAt(now());
		const { keys, leases } = await read(selectUsage(now(), month.name, filter));
		// Queried after the leases, so that a server that has just started does not count as dead.
		const live = await options.liveServers();
		const held = Map.groupBy(
			leases.filter(({ server_id }) => live === 'all' || live.includes(server_id)),
			({ key_id }) => key_id,
		);
		return keys.map(({ quota, leased, used: reported, ...of }) => {
			const used = reported ?? 0;
			const inHand = (held.get(of.key) ?? []).reduce((sum, lease) => sum + lease.leased - lease.used, 0);
			const forfeited = (leased ?? 0) - used - inHand;
			return {
				...of,
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
		keys: (client?: string) => read(selectKeys({ client })),

		/** Issues a key. The key itself is returned only here. @throws OperatorError where there is no such client or plan */
		issueKey: (
			client: string,
			plan: string,
			{ scope = 'upload', name = null, expiresInMs }: KeyOptions = {},
		): Promise<IssuedKey> =>
			change(function* () {
				yield* options.requirePlan(plan);
				const { id, key } = newApiKey();
				const nowMs = now();
				const expiresAtMs = expiresInMs === undefined ? null : nowMs + expiresInMs;
				yield* sql`INSERT INTO @api_key ${inserting({
					id,
					hash: hashApiKey(key),
					client_id: yield* clientId(client),
					plan,
					created_at: nowMs,
					seq: yield* nextSeq('api_key'),
					scope,
					name,
					expires_at: expiresAtMs,
				})}`;
				return { id, key, client, name, plan, scope, expiresAt: isoTime(expiresAtMs) };
			}),

		/** Revoking twice is no error. @throws OperatorError where there is no such key */
		revokeKey: (id: string): Promise<ApiKey> =>
			change(function* () {
				yield* sql`UPDATE @api_key SET revoked_at = ${now()} WHERE id = ${id} AND revoked_at IS NULL`;
				const [key] = yield* selectKeys({ id });
				if (!key) throw new OperatorError(`There is no key ${id}; 'caskade key list' shows all.`);
				return key;
			}),

		/** This month's usage of every key that is usable or was used, or of those of a client. */
		usage: (client?: string) => usage({ client }),

		/** This month's usage of one key; undefined where there is none. */
		usageOf: async (keyId: string) => (await usage({ keyId }))[0],
	};
}
