import { missingKeys } from '../../core/domain/missing-key.ts';
import { allShared } from '../../core/store/account/owners/shared-keys.ts';
import { type Reading, raw, rowsOf, select } from '../../core/store/steps.ts';

/** A key that joins nobody, and how often it was sent. */
export interface UnjoinableKey {
	readonly field: 'tid' | 'subid' | 'cid';
	/** As it was sent. */
	readonly value: string;
	readonly events: number;
	/** Whether it stands for a missing one, or too many share it. */
	readonly why: 'missing' | 'shared';
}

const eventFields = ['tid', 'subid', 'cid'] as const;
/** The most that are named of each field. */
const maxNamed = 10;

/** In SQL, for many rows: whether a text stands for a missing key. */
function isMissing(text: string): string {
	return `lower(trim(${text})) IN (${missingKeys.map((key) => `'${key.replaceAll("'", "''")}'`).join(', ')})`;
}

/** In SQL, for many rows: whether too many share the key of a field. */
function isShared(field: UnjoinableKey['field']): string {
	return `${field} IN (SELECT substr(key, 3) FROM @shared_key WHERE substr(key, 1, 2) = '${kindOf(field)}')`;
}

/** How the keys of a field begin. */
function kindOf(field: UnjoinableKey['field']): string {
	return `${field[0]}:`;
}

/** The keys of events of a period that join nobody, the most frequent first. */
export function* unjoinableKeysOfEvents({
	fromMs,
	toMs,
	asOfMs,
}: {
	/** May be infinite. */
	readonly fromMs: number;
	readonly toMs: number;
	readonly asOfMs: number;
}): Reading<UnjoinableKey[]> {
	const [from, to] = [Math.max(fromMs, Number.MIN_SAFE_INTEGER), Math.min(toMs, asOfMs + 1)];
	const shared = yield* allShared();
	const conditions = eventFields.flatMap((field) => [
		{ field, why: 'missing', condition: isMissing(field) },
		// Nearly all accounts have none, and looking for them costs as much as reading all events.
		...(shared.values().some((key) => key.startsWith(kindOf(field)))
			? [{ field, why: 'shared', condition: isShared(field) }]
			: []),
	]);
	const rows = yield* rowsOf(
		conditions.map(
			({ field, why, condition }) =>
				select`'${raw(field)}' AS field, '${raw(why)}' AS why, ${raw(field)} AS value, count(*) AS events FROM @subscription_event WHERE received_at >= ${from} AND received_at < ${to} AND ${raw(condition)} GROUP BY ${raw(field)} ORDER BY 4 DESC, 3 LIMIT ${raw(maxNamed)} /* unjoinable keys */`,
		),
	);
	return rows.map(({ field, value, events, why }) => ({
		field: field as UnjoinableKey['field'],
		value: String(value),
		events: Number(events),
		why: why as UnjoinableKey['why'],
	}));
}

/** What visitors have shown that stands for a missing key, and how many visitors have shown each. */
export function* missingKeysShown(): Reading<{ field: 'tid' | 'cid'; value: string; visitors: number }[]> {
	const rows =
		yield* select`key, count(*) AS visitors FROM @claim WHERE key <> 'r:' AND ${raw(isMissing('substr(key, 3)'))} GROUP BY key ORDER BY 2 DESC, 1 LIMIT ${raw(maxNamed)} /* missing keys */`;
	return rows.map(({ key, visitors }) => ({
		field: String(key).startsWith('t:') ? 'tid' : 'cid',
		value: String(key).slice(2),
		visitors: Number(visitors),
	}));
}

/** All keys that too many share, at most some of them. */
export function* sharedKeys(): Reading<Pick<UnjoinableKey, 'field' | 'value'>[]> {
	const rows = yield* select`key FROM @shared_key ORDER BY key LIMIT ${raw(maxNamed)} /* shared keys */`;
	return rows.map(({ key }) => ({
		field: eventFields.find((field) => String(key).startsWith(kindOf(field))) ?? 'cid',
		value: String(key).slice(2),
	}));
}
