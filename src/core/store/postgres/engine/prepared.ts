import { LRUCache } from 'lru-cache';
import type pg from 'pg';

/**
 * Prepared statements per connection; each account has its own. A server needs about 20 KB for each. The least recently
 * used are deallocated.
 */
const maxPrepared = 1000;

interface PreparedStatement {
	readonly name: string;
	readonly text: string;
}

const preparedOn = new WeakMap<pg.ClientBase, LRUCache<string, PreparedStatement>>();

/** Makes a connection keep statements prepared. */
export function keepPrepared(client: pg.ClientBase): void {
	const dispose = ({ name }: PreparedStatement) => {
		// If this fails, the connection has failed, or the server keeps a statement that nobody uses.
		client.query(`DEALLOCATE "${name}"`).catch(() => {});
	};
	preparedOn.set(client, new LRUCache({ max: maxPrepared, dispose }));
}

let statements = 0;

/**
 * The form in which to send a statement: named, if the connection keeps statements prepared.
 * @param text must be the same for each key
 */
export function statementOn(
	client: pg.ClientBase,
	key: string,
	text: () => string,
): { readonly name?: string; readonly text: string } {
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
