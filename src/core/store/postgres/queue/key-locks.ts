import type pg from 'pg';
import type { Lock, Row } from '../../steps.ts';
import type { AccountTables } from '../engine/account-tables.ts';
import { numberArray, textArray } from '../engine/arrays.ts';
import { onlyWhereItLies } from '../engine/places.ts';
import { statementOn } from '../engine/prepared.ts';

/**
 * The keys of an account share this many locks. So a transaction of any size takes few: a server has room for a few
 * thousand in all (`max_locks_per_transaction`). Two keys that share a lock wait for each other now and then.
 */
const locksPerAccount = 64;
/** The first lock. The number is the ASCII of "join". */
const firstLock = 0x6a6f696e;
/**
 * The first lock of subscriptions, `s:…`, which are locked after those of visitors. The number is the ASCII of "subs".
 */
const firstSubscriptionLock = 0x73756273;
/** What a lock of a visitor whose `vid` is derived has set: it is a negative number, and no other is. */
const visitorLock = 0x80000000;

/** Locks keys until the transaction ends, always in the same order. */
export async function lockKeys(
	client: pg.PoolClient,
	tables: AccountTables,
	{ lock, keys }: Extract<Lock, { keys: unknown }>,
): Promise<readonly Row[]> {
	if (keys.length === 0) return [];
	const numbers = numberArray(locksOf(keys));
	const send = (select: string) => {
		const text = `${select} FROM unnest($2::int[]) AS list (number)${onlyWhereItLies(client, tables)} /* lock keys */`;
		return client.query({ ...statementOn(client, text, () => text), values: [tables.schema, numbers] });
	};
	if (lock === 'alone')
		return (await send('SELECT bool_and(pg_try_advisory_xact_lock(number, hashtext($1))) AS alone')).rows;
	const suffix = lock === 'shared' ? '_shared' : '';
	await send(`SELECT count(pg_advisory_xact_lock${suffix}(number, hashtext($1)))`);
	return [];
}

/** Shares the locks of several accounts' keys, in one statement: of many accounts, each would cost as much as a few look-ups. */
export async function shareKeys(
	client: pg.PoolClient,
	all: readonly { readonly schema: string; readonly keys: readonly string[] | 'all' }[],
): Promise<void> {
	const numbers: number[] = [];
	const schemas: string[] = [];
	for (const { schema, keys } of all)
		for (const number of locksOf(keys)) {
			numbers.push(number);
			schemas.push(schema);
		}
	if (numbers.length === 0) return;
	const text =
		'SELECT count(pg_advisory_xact_lock_shared(number, hashtext(schema))) FROM unnest($1::int[], $2::text[]) AS list (number, schema) /* lock keys */';
	const values = [numberArray(numbers), textArray(schemas)];
	await client.query({ ...statementOn(client, text, () => text), values });
}

const everyLock = [firstLock, firstSubscriptionLock].flatMap((first) =>
	Array.from({ length: locksPerAccount }, (_, index) => first + index),
);

function locksOf(keys: readonly string[] | 'all'): readonly number[] {
	if (keys === 'all') return everyLock;
	const numbers = keys.map((key) => {
		// Each has a lock of its own: few hits derive a visitor, and those of others must not wait for them.
		if (key.startsWith('v:')) return fnv1a(key) | visitorLock;
		return (key.startsWith('s:') ? firstSubscriptionLock : firstLock) + (fnv1a(key) % locksPerAccount);
	});
	return [...new Set(numbers)].sort((a, b) => a - b);
}

/**
 * FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv. A cryptographic hash is too slow for the sixty keys of an upload.
 */
function fnv1a(text: string): number {
	let hash = 0x811c9dc5;
	for (let index = 0; index < text.length; index++)
		hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
	return hash >>> 0;
}
