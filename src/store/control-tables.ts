import type { Generated, Kysely, Selectable } from 'kysely';
import type { CaskScope } from '../access/cask.ts';

/** The tables of the control database; see `migrations/<engine>/control/`. */
export interface ControlTables {
	revision: { id: number; number: number };
	client: { id: Generated<number>; name: string; created_at: number };
	account: {
		id: Generated<number>;
		aid: string;
		client_id: number;
		origins: string;
		created_at: number;
		disabled_at: number | null;
		database: string | null;
		explains: number;
		channel_rules: string;
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
	signing_key: { kid: string; secret: string; created_at: number; retires_at: number | null };
	revocation: { account_id: number; subject: string; revoked_at: number };
	goal: {
		account_id: number;
		name: string;
		evts: string;
		horizon_days: number;
		medium_from: number;
		high_from: number;
		created_at: number;
	};
	segment: { account_id: number; id: string; name: string; rule: string; created_at: number };
	model: {
		account_id: number;
		goal: string;
		scope: CaskScope;
		version: string;
		active: number;
		body: string;
		report: string;
		created_at: number;
	};
}

export type ControlDatabase = Kysely<ControlTables>;

/** The tables that make up what an operator has set up and what was used of it; the rest a store makes by itself. */
export type ControlContent = {
	readonly [Table in Exclude<keyof ControlTables, 'revision'>]: readonly Selectable<ControlTables[Table]>[];
};

/** A time as commands show it. */
export function isoTime(ms: number | null): string | null {
	return ms === null ? null : new Date(ms).toISOString();
}

/**
 * The time of a new row that is to come last by its time: now, or a moment after the latest there is. Several are made
 * in one millisecond, and clocks may go back.
 */
export async function timeAfterAll(
	database: ControlDatabase,
	table: 'goal' | 'segment',
	accountId: number,
	nowMs: number,
): Promise<number> {
	const { latest } = await database
		.selectFrom(table)
		.select(({ fn }) => fn.max<number | null>('created_at').as('latest'))
		.where('account_id', '=', accountId)
		.executeTakeFirstOrThrow();
	return latest === null ? nowMs : Math.max(nowMs, latest + 1);
}
