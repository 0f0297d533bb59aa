import { LRUCache } from 'lru-cache';
import type pg from 'pg';

/**
 * Statements that a connection keeps prepared, each account has its own. A server needs some 20 KB for each; those that
 * were used longest ago are given up.
 */
const maxPrepared = 1000;

interface Prepared {
	readonly name: string;
	readonly text: string;
}

const preparedOn = new WeakMap<pg.ClientBase, LRUCache<string, Prepared>>();

/** Lets a connection keep statements prepared from now on. */
export function keepPrepared(client: pg.ClientBase): void {
	const dispose = ({ name }: Prepared) => {
		// Where it fails, the connection has failed, or the server keeps what nobody names any more.
		client.query(`DEALLOCATE "${name}"`).catch(() => {});
	};
	preparedOn.set(client, new LRUCache({ max: maxPrepared, dispose }));
}

let statements = 0;

/**
 * A statement as a connection takes it: by its name, where it keeps statements prepared.
 * @param text always the same for one key
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

/** What its comment says that it does, and a number: so those who look at a connection know what passes. */
function nameOf(text: string): string {
	const [, what = 'statement'] = /\/\* ([\w ]{1,40}) \*\//.exec(text) ?? [];
	return `${what} ${++statements}`;
}
