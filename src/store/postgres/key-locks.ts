import type pg from 'pg';
import type { Lock } from '../steps.ts';
import { numberArray } from './arrays.ts';
import { statementOn } from './prepared.ts';

/**
 * Keys share so many locks of their account: a transaction of any size takes few, since a server has room for a few
 * thousand in all (`max_locks_per_transaction`). Two keys that share one wait for each other now and then.
 */
const locksPerAccount = 64;
/** The first of them; the number is the ASCII of "join". */
const firstLock = 0x6a6f696e;

/** Locks keys until the end of the transaction, always in the same order. */
export async function lockKeys(
	client: pg.PoolClient,
	schema: string,
	{ lock, keys }: Extract<Lock, { keys: unknown }>,
): Promise<void> {
	if (keys.length === 0) return;
	const suffix = lock === 'shared' ? '_shared' : '';
	const text = `SELECT count(pg_advisory_xact_lock${suffix}(number, hashtext($1))) FROM unnest($2::int[]) AS list (number) /* lock keys */`;
	const numbers = keys === 'all' ? everyLock : locksOf(keys);
	await client.query({ ...statementOn(client, text, () => text), values: [schema, numberArray(numbers)] });
}

const everyLock = Array.from({ length: locksPerAccount }, (_, index) => firstLock + index);

function locksOf(keys: readonly string[]): number[] {
	return [...new Set(keys.map((key) => firstLock + (fnv1a(key) % locksPerAccount)))].sort((a, b) => a - b);
}

/** http://www.isthe.com/chongo/tech/comp/fnv; an upload has sixty keys, for which a cryptographic hash is too slow. */
function fnv1a(text: string): number {
	let hash = 0x811c9dc5;
	for (let index = 0; index < text.length; index++)
		hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
	return hash >>> 0;
}
