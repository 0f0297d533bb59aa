import type pg from 'pg';
import { clientTableNames } from '../../account/client-tables.ts';
import type { Parts } from '../../dialects.ts';
import { isOnlyNode } from './server-capabilities.ts';

/** The tables of an account, or of the control schema, as statements name them. */
export interface AccountTables {
	readonly schema: string;
	/**
	 * The tables as the cluster's node names them, for transactions on that node that hold the account in its place, see
	 * `holdPlace`. To Citus they are tables like any other: it neither plans anew nor writes anew what names them.
	 */
	readonly node?: NodeTables | undefined;
}

/** How to name an account's tables on a server. */
export type TablesOf = (accountId: number) => AccountTables;

export interface NodeTables {
	/** The number of the table `counter` on this cluster, whose place is that of all. */
	readonly shard: number;
	/** The name of each table, with its schema. */
	readonly names: ReadonlyMap<string, string>;
}

/**
 * @param shards the number of each table, by name
 * @returns undefined where some table is not known yet
 */
export function nodeTables(schema: string, shards: Readonly<Record<string, number>>): NodeTables | undefined {
	const shard = shards.counter;
	if (shard === undefined || clientTableNames.some((name) => shards[name] === undefined)) return undefined;
	// As Citus names them: https://docs.citusdata.com/en/stable/get_started/concepts.html#shards
	const names = Object.entries(shards).map(
		([name, number]) => [name, `"${schema}"."${name}_${number}"`] as const,
	);
	return { shard, names: new Map(names) };
}

/**
 * Whether an account's tables are tables of the server itself. If not, Citus finds them. Then rows must not be written from
 * arrays: `INSERT … SELECT FROM unnest()` becomes a two-phase commit, even in one schema; `VALUES` with a parameter
 * for each value does not.
 */
export function isHere(client: pg.ClientBase, tables: AccountTables): boolean {
	return tables.node !== undefined || isOnlyNode(client);
}

/** A table's name, for statements. */
export function nameIn({ schema, node }: AccountTables, table: string): string {
	return node?.names.get(table) ?? `"${schema}".${table}`;
}

/** @param parts before each but the first belongs a schema, and each of these begins with a table's name */
export function sqlIn(tables: AccountTables, [first, ...parts]: Parts): string {
	if (!tables.node) return [first, ...parts].join(`"${tables.schema}".`);
	const named = parts.map((part) =>
		part.replace(/^(\w+)( AS\b)?/, (_, table, as) => nameIn(tables, table) + (as ?? ` AS ${table}`)),
	);
	return [first, ...named].join('');
}

/** Tables that could not be used on the node that was said to have them. */
const left = new WeakSet<NodeTables>();

/** Citus is asked for these tables until the map of the cluster says anew where they are. */
export function leave(tables: NodeTables): void {
	left.add(tables);
}

export function isLeft(tables: NodeTables | undefined): boolean {
	return tables === undefined || left.has(tables);
}
