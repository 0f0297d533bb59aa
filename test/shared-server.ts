import type { UsagePlan } from '../src/core/domain/usage-plan.ts';
import { allTests } from './at-end.ts';
import { freshPostgresDatabase } from './core/store/postgres-server.ts';
import {
	addClient,
	type ServedAccount,
	servedAccount,
	startService,
	startServiceOn,
	type TestService,
} from './support.ts';

/** Shared by the tests of this process. */
let shared: Promise<Omit<TestService, 'folder'>> | undefined;
let clientCount = 0;

/**
 * A new client with an account on a server that the tests of this process share: a start costs many times as much as an
 * account, and accounts have databases of their own. A test of what accounts share (the log, metrics, settings, clock and
 * end of a server) starts its own.
 *
 * It is on a data folder, or on PostgreSQL with `TEST_SHARED_SERVER=postgres`.
 */
export async function openAccount(plan: Partial<UsagePlan> = {}): Promise<ServedAccount> {
	shared ??= startShared();
	const { store, server } = await shared;
	clientCount++;
	const client = await addClient(store, { client: `acme${clientCount}`, plan });
	await server.directory.refresh();
	return servedAccount(server, store, client);
}

async function startShared(): Promise<Omit<TestService, 'folder'>> {
	// All tests send from one address.
	const settings = { hitsPerAddress: 1_000_000 };
	if (process.env.TEST_SHARED_SERVER !== 'postgres') return startService(allTests, settings);
	return startServiceOn(allTests, await freshPostgresDatabase(), settings);
}
