import type { Generated, Kysely, Selectable } from 'kysely';
import type { KeyScope } from '../../domain/api-key.ts';
import type { ModelScope } from '../../domain/cask-scope.ts';
import type { GoalCounts } from '../../domain/goal.ts';
import type { IdTrust } from '../../domain/signed-id.ts';

/** The tables of the control database; see `migrations/<engine>/control/`. Capabilities declare theirs beside what reads them. */
export interface ControlTables {
	revision: { id: number; number: number };
	client: { id: Generated<number>; name: string; created_at: number; disabled_at: number | null };
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
		import_secret: string | null;
		timezone: string;
		payment_providers: string;
		renewal_days: string;
		grace_days: string;
		cancellation_evt: string | null;
		currency: string;
		cadences: Generated<string | null>;
		tells_experiments: number;
		visitor_secret: string;
		id_trust: IdTrust;
		identity_secret: string | null;
		previous_identity_secret: string | null;
		previous_identity_until: number | null;
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
		seq: number;
		scope: KeyScope;
		name: string | null;
		expires_at: number | null;
		last_used_at: Generated<number | null>;
	};
	usage: { key_id: string; month: string; leased: number; used: number };
	quota_lease: {
		server_id: string;
		key_id: string;
		month: string;
		seq: number;
		leased: number;
		used: number;
	};
	signing_key: { kid: string; secret: string; created_at: number; retires_at: number | null; seq: number };
	revocation: { account_id: number; subject: string; revoked_at: number };
	goal: {
		account_id: number;
		name: string;
		evts: string;
		counts: GoalCounts;
		horizon_days: number;
		medium_from: number;
		high_from: number;
		created_at: number;
		seq: number;
		base_rates: Generated<string | null>;
	};
	segment: {
		account_id: number;
		id: string;
		name: string;
		rule: string;
		created_at: number;
		seq: number;
	};
	model: {
		account_id: number;
		goal: string;
		scope: ModelScope;
		version: string;
		active: number;
		body: string;
		report: string;
		created_at: number;
		seq: number;
		levels: Generated<string | null>;
	};
	note: {
		id: string;
		account_id: number | null;
		day: string | null;
		text: string;
		who: string | null;
		created_at: number;
	};
	upload_answer: { client_id: number; aid: string; day: string; cause: string; requests: number };
	upload_problem: {
		client_id: number;
		at: number;
		request_id: string;
		aid: string;
		key_id: string;
		cause: string;
		detail: string;
	};
}

export type ControlDatabase = Kysely<ControlTables>;

/** For `and`: rows with these values. Fields that are undefined may have any, as Kysely leaves them out. */
export function given<Fields extends object>(
	fields: Fields,
): { readonly [Name in keyof Fields]: Exclude<Fields[Name], undefined> } {
	return fields as never;
}

/** How the parts of the control store reach the database. */
export interface ControlDoors {
	/** For reading, and for what running servers need not notice. */
	readonly database: ControlDatabase;
	/** A transaction that running servers notice. Changes are serialised. */
	change<T>(fn: (transaction: ControlDatabase) => Promise<T>): Promise<T>;
	/** Milliseconds since 1970. */
	now(): number;
}

export type ControlTable = keyof ControlTables;

/** The tables of the core that are copied to another store, ordered so that referenced rows come first. */
export const copiedTables = [
	'client',
	'account',
	'plan',
	'api_key',
	'usage',
	'signing_key',
	'revocation',
	'goal',
	'segment',
	'model',
	'note',
] as const satisfies readonly ControlTable[];

type Rows = { readonly [Table in ControlTable]: readonly Selectable<ControlTables[Table]>[] };

/** The rows of all tables that are copied. Stores create the others themselves; who is signed in signs in again. */
export type ControlContent = Pick<Rows, (typeof copiedTables)[number]> & Partial<Rows>;

/** In the order in which they are copied. */
export function tablesIn(content: ControlContent): ControlTable[] {
	return Object.keys(content) as ControlTable[];
}
