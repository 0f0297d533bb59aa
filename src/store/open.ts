import { OperatorError, type Store } from './store.ts';

/**
 * Opens the databases that a `--database` address names.
 * @param address `sqlite:FOLDER` or `postgres://user:password@host:port/database`
 * @throws OperatorError where the address is of no known kind
 */
export async function openStore(address: string): Promise<Store> {
	const [, scheme, rest] = /^([a-z]+):(.+)$/.exec(address) ?? [];
	if (scheme === 'sqlite' && rest) {
		const { SqliteStore } = await import('./sqlite/sqlite-store.ts');
		return new SqliteStore(rest);
	}
	if (scheme === 'postgres' || scheme === 'postgresql') {
		const { PostgresStore } = await import('./postgres/postgres-store.ts');
		return PostgresStore.open(address);
	}
	throw new OperatorError(
		`'${scheme ?? address}' is no database address; write sqlite:FOLDER or postgres://….`,
	);
}
