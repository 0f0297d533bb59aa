import type pg from 'pg';

/**
 * Prepared statements per connection; each account has its own. A server process keeps some 20 KB for each, and 150 KB of the tables
 * of each account that it has met, until its connection is closed.
 */
const maxPrepared = 1000;

const preparedOn = new WeakMap<pg.ClientBase, Map<string, pg.QueryConfig>>();

/** Makes a connection keep statements prepared. */
export function keepPrepared(client: pg.ClientBase): void {
	preparedOn.set(client, new Map());
}

/** Whether another connection should take its place. */
export function hasMetMany(client: pg.ClientBase): boolean {
	return (preparedOn.get(client)?.size ?? 0) >= maxPrepared;
}

let statements = 0;

/**
 * The form in which to send a statement: named, if the connection keeps statements prepared.
 * @param text must be the same for each key
 */
export function statementOn(client: pg.ClientBase, key: string, text: () => string): pg.QueryConfig {
	const prepared = preparedOn.get(client);
	if (!prepared) return { text: text() };
	let statement = prepared.get(key);
	if (!statement) {
		statement = { name: nameOf(text()), text: text() };
		prepared.set(key, statement);
	}
	return statement;
}

/** The statement's comment and a number, so that operators recognise it on the server. */
function nameOf(text: string): string {
	const [, what = 'statement'] = /\/\* ([\w ]{1,40}) \*\//.exec(text) ?? [];
	return `${what} ${++statements}`;
}
