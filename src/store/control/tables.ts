import type { Generated, Kysely, Selectable } from 'kysely';
import type { KeyScope } from '../../domain/api-key.ts';
import type { ModelScope } from '../../domain/cask-scope.ts';
import type { GoalCounts } from '../../domain/goal.ts';
import type { PersonRole, SignInMethod } from '../../domain/person.ts';
import type { IdTrust } from '../../domain/signed-id.ts';
import type { DisabledReason } from '../../domain/webhook.ts';

/** The tables of the control database; see `migrations/<engine>/control/`. */
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
	experiment: {
		account_id: number;
		name: string;
		segment: string;
		rule: string;
		goal: string;
		holdout_percent: number;
		secret: string;
		from_at: number;
		to_at: number | null;
		stopped_at: number | null;
		created_at: number;
		seq: number;
	};
	experiment_read: { account_id: number; name: string; held_out: number; register: number; rank: number };
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
	webhook: {
		id: string;
		account_id: number;
		url: string;
		events: string;
		with_cid: number;
		allow_private: number;
		secret: string;
		previous_secret: string | null;
		previous_until: number | null;
		created_at: number;
		disabled_at: number | null;
		disabled_why: DisabledReason | null;
		failing_since: number | null;
		seq: number;
	};
	user: {
		id: string;
		email: string;
		password: string | null;
		totp_secret: string | null;
		totp_step: number | null;
		issuer: string | null;
		subject: string | null;
		created_at: number;
		last_aid: string | null;
	};
	grant: { user_id: string; account_id: number | null; role: PersonRole };
	session: {
		hash: string;
		user_id: string;
		method: SignInMethod;
		agent: string;
		created_at: number;
		used_at: number;
	};
	login_link: { hash: string; user_id: string; proves: SignInMethod | null; expires_at: number };
	recovery_code: { hash: string; user_id: string };
	audit: {
		id: Generated<number>;
		at: number;
		who: string;
		action: string;
		aid: string | null;
		about: string | null;
	};
	note: {
		id: string;
		account_id: number | null;
		day: string | null;
		text: string;
		who: string | null;
		created_at: number;
	};
	named_view: {
		id: string;
		account_id: number;
		user_id: string | null;
		name: string;
		page: string;
		query: string;
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

/**
 * The tables with the operator's settings, people and the usage. Stores create the others themselves; who is signed in signs
 * in again.
 */
export type ControlContent = {
	readonly [Table in ControlTable]: readonly Selectable<ControlTables[Table]>[];
};

/** Which tables are copied to another store. Ordered so that referenced rows come first. */
const isCopied = {
	client: true,
	account: true,
	plan: true,
	api_key: true,
	usage: true,
	signing_key: true,
	revocation: true,
	goal: true,
	segment: true,
	experiment: true,
	experiment_read: true,
	model: true,
	webhook: true,
	user: true,
	grant: true,
	recovery_code: true,
	audit: true,
	note: true,
	named_view: true,
	revision: false,
	quota_lease: false,
	session: false,
	login_link: false,
	upload_answer: false,
	upload_problem: false,
} as const satisfies Record<keyof ControlTables, boolean>;

export type ControlTable = {
	[Table in keyof ControlTables]: (typeof isCopied)[Table] extends true ? Table : never;
}[keyof ControlTables];

export const copiedTables = (Object.keys(isCopied) as (keyof ControlTables)[]).filter(
	(table): table is ControlTable => isCopied[table],
);
