import { OperatorError } from '../errors.ts';
import { type ClientTable, clientTableNames } from './account/tables.ts';
import type { ControlContent } from './control/control-store.ts';
import type { Value } from './steps.ts';

/**
 * Receives another store's content. Accounts come first and the control tables last, in one transaction. Until then the
 * store has no key, so a server that is started on half a copy admits nobody.
 */
export interface CopyTarget {
	/**
	 * @param source identifies the source store, the same in every attempt
	 * @param accountIds its accounts; a new copy requires that the target has no data of them
	 * @returns whether an earlier attempt is resumed
	 * @throws OperatorError where the store contains anything but an unfinished copy of that source
	 */
	begin(source: string, accountIds: readonly number[]): Promise<'new' | 'resumed'>;
	/** The key of the last row that an earlier attempt copied; `undefined` if there is none. */
	lastKey(accountId: number, table: ClientTable): Promise<Value[] | undefined>;
	/** Adds rows in key order, as arrays in column order. */
	addRows(accountId: number, table: ClientTable, rows: readonly (readonly Value[])[]): Promise<void>;
	/** Adds the control tables, which completes the copy. */
	finish(content: ControlContent): Promise<void>;
	close(): Promise<void>;
}

/** Ordered so that referenced rows come first. */
export const controlColumns = {
	client: ['id', 'name', 'created_at', 'disabled_at'],
	account: [
		'id',
		'aid',
		'client_id',
		'origins',
		'created_at',
		'disabled_at',
		'database',
		'explains',
		'channel_rules',
		'import_secret',
		'timezone',
		'payment_providers',
		'renewal_days',
		'currency',
		'cadences',
	],
	plan: ['name', 'rate_per_second', 'burst', 'quota_per_month', 'timeout_ms', 'max_events', 'created_at'],
	api_key: [
		'id',
		'hash',
		'client_id',
		'plan',
		'created_at',
		'revoked_at',
		'seq',
		'scope',
		'name',
		'expires_at',
		'last_used_at',
	],
	usage: ['key_id', 'month', 'leased', 'used'],
	signing_key: ['kid', 'secret', 'created_at', 'retires_at', 'seq'],
	revocation: ['account_id', 'subject', 'revoked_at'],
	goal: [
		'account_id',
		'name',
		'evts',
		'horizon_days',
		'medium_from',
		'high_from',
		'created_at',
		'seq',
		'base_rates',
		'counts',
	],
	segment: ['account_id', 'id', 'name', 'rule', 'created_at', 'seq'],
	model: [
		'account_id',
		'goal',
		'scope',
		'version',
		'active',
		'body',
		'report',
		'created_at',
		'seq',
		'levels',
	],
	webhook: [
		'id',
		'account_id',
		'url',
		'events',
		'with_cid',
		'allow_private',
		'secret',
		'previous_secret',
		'previous_until',
		'created_at',
		'disabled_at',
		'disabled_why',
		'failing_since',
		'seq',
	],
	user: ['id', 'email', 'password', 'totp_secret', 'totp_step', 'issuer', 'subject', 'created_at'],
	grant: ['user_id', 'account_id', 'role'],
	recovery_code: ['hash', 'user_id'],
	audit: ['id', 'at', 'who', 'action', 'aid', 'about'],
} as const satisfies { [Table in keyof ControlContent]: (keyof ControlContent[Table][number])[] };

export const controlTables = Object.keys(controlColumns) as (keyof ControlContent)[];

/** A control table's rows as arrays, in the order of `controlColumns`. */
export function controlRows(content: ControlContent, table: keyof ControlContent): Value[][] {
	return content[table].map((row) =>
		controlColumns[table].map((column) => (row as unknown as Record<string, Value>)[column] as Value),
	);
}

/**
 * Checks the target before a copy begins. Rows of unknown accounts count too: a deleted control database leaves them
 * behind.
 */
export async function checkCopyTarget(
	copyTarget: Pick<CopyTarget, 'lastKey'>,
	attempt: { source: string; accountIds: readonly number[] },
	found: { source: string | undefined; isEmpty: boolean },
): Promise<'new' | 'resumed'> {
	if (found.source !== undefined && found.source !== attempt.source)
		throw new OperatorError('A copy of another source is under way there; choose an empty target.');
	if (!found.isEmpty)
		throw new OperatorError('The target of the copy is not empty: it has clients or plans of its own.');
	if (found.source !== undefined) return 'resumed';
	for (const accountId of attempt.accountIds)
		for (const table of clientTableNames)
			if (await copyTarget.lastKey(accountId, table))
				throw new OperatorError('The target of the copy is not empty: it has data of accounts.');
	return 'new';
}
