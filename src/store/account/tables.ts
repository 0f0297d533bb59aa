import { type StoredEvent, storedEventColumns } from '../../domain/subscription-event.ts';

/** The tables of an account's database; see `migrations/<engine>/client/`. */
export interface ClientTables {
	/** `named`: see `Owner` in `subscription-owners.ts`. */
	subscription_event: { id: number } & Writable<StoredEvent> & { vid: string | null; named: number };
	hit: HitRow;
	/** Only on engines that store recent hits separately: these, and a view of all hits. */
	recent_hit: HitRow;
	logged_hit: HitRow;
	/** Identity links: who has shown a `tid` or a `cid`. */
	claim: { key: string; at: number; vid: string; unfounded: number | null; kept: number | null };
	/** How visitors arrived; see `touches.ts`. */
	touch: { vid: string; at: number; origin: string; kept: number | null };
	spend: { day: string; channel: string; campaign: string; pence: number };
	visit: { id: number; sid: string; vid: string; profile: string } & FoldingColumns;
	visitor: { id: number; vid: string; profile: string } & FoldingColumns;
	task: { id: number; name: string; position: number };
	/** Of webhooks; see `evaluation.ts`. */
	membership: { vid: string; segment: string; since: number; sequence: number };
	standing: { vid: string; body: string };
	evaluation: { name: string; holder: string; held_until: number; sequence: number; state: string };
	/** See `outbox.ts`. */
	outbox: {
		webhook: string;
		sequence: number;
		type: string;
		vid: string | null;
		body: string;
		created_at: number;
		due_at: number | null;
		attempts: number;
		attempted_at: number | null;
		delivered_at: number | null;
		status: number | null;
		problem: string | null;
	};
	conflict: { id: number; at: number; request_id: string | null; tids: string };
}

/** Where reads find hits. */
export interface HitTables {
	/** The tables that together contain all hits. */
	readonly all: readonly ('hit' | 'recent_hit')[];
	/** The table or view for hits of some visitors; slow for all. */
	readonly ofVisitors: 'hit' | 'logged_hit';
}

/** For an engine that stores all hits in one table. */
export const oneHitTable: HitTables = { all: ['hit'], ofVisitors: 'hit' };

/** The same object type, with writable columns. */
type Writable<Row> = { -readonly [Column in keyof Row]: Row[Column] };

interface HitRow {
	id: number;
	vid: string;
	sid: string;
	at: number;
	body: string;
}

/** The columns of a profile that is rebuilt in the background: it contains all entries up to `folded_to`. */
interface FoldingColumns {
	folded_to: number | null;
	refolded: string | null;
}

/** A table that is copied from one engine to another. */
export type ClientTable = Exclude<keyof ClientTables, 'recent_hit' | 'logged_hit'>;

interface TableDescription<Table extends ClientTable> {
	readonly columns: readonly (keyof ClientTables[Table] & string)[];
	/** Unique, indexed, and sorted alike by every engine. An `id` is a number that the engine assigns. */
	readonly key: readonly (keyof ClientTables[Table] & string)[];
}

/** All tables of an account. */
export const clientTables = {
	subscription_event: {
		columns: ['id', ...storedEventColumns, 'named', 'vid'],
		key: ['id'],
	},
	hit: { columns: ['id', 'vid', 'sid', 'at', 'body'], key: ['id'] },
	claim: { columns: ['vid', 'key', 'at', 'unfounded', 'kept'], key: ['vid', 'key'] },
	touch: { columns: ['vid', 'at', 'origin', 'kept'], key: ['vid', 'at'] },
	spend: { columns: ['day', 'channel', 'campaign', 'pence'], key: ['day', 'channel', 'campaign'] },
	visit: { columns: ['id', 'sid', 'vid', 'profile', 'folded_to', 'refolded'], key: ['id'] },
	visitor: { columns: ['id', 'vid', 'profile', 'folded_to', 'refolded'], key: ['id'] },
	task: { columns: ['id', 'name', 'position'], key: ['id'] },
	membership: { columns: ['vid', 'segment', 'since', 'sequence'], key: ['vid', 'segment'] },
	standing: { columns: ['vid', 'body'], key: ['vid'] },
	evaluation: { columns: ['name', 'holder', 'held_until', 'sequence', 'state'], key: ['name'] },
	outbox: {
		columns: [
			...(['webhook', 'sequence', 'type', 'vid', 'body', 'created_at', 'due_at', 'attempts'] as const),
			...(['attempted_at', 'delivered_at', 'status', 'problem'] as const),
		],
		key: ['webhook', 'sequence'],
	},
	conflict: { columns: ['id', 'at', 'request_id', 'tids'], key: ['id'] },
} as const satisfies { [Table in ClientTable]: TableDescription<Table> };

export const clientTableNames = Object.keys(clientTables) as ClientTable[];

/** Whether the table's key is a number that the engine assigns. */
export function isNumbered(table: ClientTable): boolean {
	return clientTables[table].key[0] === 'id';
}
