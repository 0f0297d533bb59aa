import { missingKeys } from '../../../domain/missing-key.ts';
import { type Reading, raw, rowsOf, select } from '../../steps.ts';

/** A key that joins nobody, because it stands for a missing one, and how often it was sent. */
export interface UsedMissingKey {
	readonly field: 'tid' | 'subid' | 'cid';
	/** As it was sent. */
	readonly value: string;
	readonly events: number;
}

const eventFields = ['tid', 'subid', 'cid'] as const;
/** The most that are named of each field. */
const maxNamed = 10;

/** In SQL, for many rows: whether a text stands for a missing key. */
function isMissing(text: string): string {
	return `lower(trim(${text})) IN (${missingKeys.map((key) => `'${key.replaceAll("'", "''")}'`).join(', ')})`;
}

/** The keys of events of a period that join nobody, the most frequent first. */
export function* missingKeysOfEvents({
	fromMs,
	toMs,
	asOfMs,
}: {
	/** May be infinite. */
	readonly fromMs: number;
	readonly toMs: number;
	readonly asOfMs: number;
}): Reading<UsedMissingKey[]> {
	const [from, to] = [Math.max(fromMs, Number.MIN_SAFE_INTEGER), Math.min(toMs, asOfMs + 1)];
	const rows = yield* rowsOf(
		eventFields.map(
			(field) =>
				select`'${raw(field)}' AS field, ${raw(field)} AS value, count(*) AS events FROM @subscription_event WHERE received_at >= ${from} AND received_at < ${to} AND ${raw(isMissing(field))} GROUP BY ${raw(field)} ORDER BY 3 DESC, 2 LIMIT ${raw(maxNamed)} /* missing keys */`,
		),
	);
	return rows.map(({ field, value, events }) => ({
		field: field as UsedMissingKey['field'],
		value: String(value),
		events: Number(events),
	}));
}

/** The same of what visitors have shown: how many visitors have shown each. */
export function* missingKeysShown(): Reading<{ field: 'tid' | 'cid'; value: string; visitors: number }[]> {
	const rows =
		yield* select`key, count(*) AS visitors FROM @claim WHERE key <> 'r:' AND ${raw(isMissing('substr(key, 3)'))} GROUP BY key ORDER BY 2 DESC, 1 LIMIT ${raw(maxNamed)} /* missing keys */`;
	return rows.map(({ key, visitors }) => ({
		field: String(key).startsWith('t:') ? 'tid' : 'cid',
		value: String(key).slice(2),
		visitors: Number(visitors),
	}));
}
