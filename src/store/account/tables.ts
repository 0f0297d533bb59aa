import { type StoredEvent, storedEventColumns } from '../../domain/subscription-event.ts';

/** The tables of an account's database; see `migrations/<engine>/client/`. */
export interface ClientTables {
	subscription_event: { id: number } & Writable<StoredEvent> & { vid: string | null };
	hit: { id: number; vid: string; sid: string; at: number; body: string };
	/** Identity links: who has shown a `tid` or a `cid`. */
	claim: { key: string; at: number; vid: string; unfounded: number | null };
	visit: { id: number; sid: string; vid: string; profile: string } & FoldingColumns;
	visitor: { id: number; vid: string; profile: string } & FoldingColumns;
	task: { id: number; name: string; position: number };
}

/** The same object type, for whoever builds rows of it. */
type Writable<Row> = { -readonly [Column in keyof Row]: Row[Column] };

/** Of a profile that is made anew in the background: made of all entries up to `folded_to`. */
interface FoldingColumns {
	folded_to: number | null;
	refolded: string | null;
}

export type ClientTable = keyof ClientTables;

interface TableDescription<Table extends ClientTable> {
	readonly columns: readonly (keyof ClientTables[Table] & string)[];
	/** Unique, indexed, and sorted alike by every engine. The key `id` is a number that the engine gives out. */
	readonly key: readonly (keyof ClientTables[Table] & string)[];
}

/** All of an account's tables, for whoever copies or compares them. */
export const clientTables = {
	subscription_event: {
		columns: ['id', ...storedEventColumns, 'vid'],
		key: ['id'],
	},
	hit: { columns: ['id', 'vid', 'sid', 'at', 'body'], key: ['id'] },
	claim: { columns: ['vid', 'key', 'at', 'unfounded'], key: ['vid', 'key'] },
	visit: { columns: ['id', 'sid', 'vid', 'profile', 'folded_to', 'refolded'], key: ['id'] },
	visitor: { columns: ['id', 'vid', 'profile', 'folded_to', 'refolded'], key: ['id'] },
	task: { columns: ['id', 'name', 'position'], key: ['id'] },
} as const satisfies { [Table in ClientTable]: TableDescription<Table> };

export const clientTableNames = Object.keys(clientTables) as ClientTable[];

/** Whether its key is a number that the engine gives out. */
export function isNumbered(table: ClientTable): boolean {
	return clientTables[table].key[0] === 'id';
}
