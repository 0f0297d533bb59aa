import type { UsagePlan } from '../src/domain/usage-plan.ts';
import { allTests } from './at-end.ts';
import { addClient, type ServedAccount, servedAccount, startService, type TestService } from './support.ts';

/** Shared by the tests of this process. */
let shared: Promise<TestService> | undefined;
let clientCount = 0;

/**
 * A new client with an account on a server that the tests of this process share: a start costs many times as much as an
 * account, and accounts have databases of their own. A test of what accounts share (the log, metrics, settings, clock and
 * end of a server) starts its own.
 */
export async function openAccount(plan: Partial<UsagePlan> = {}): Promise<ServedAccount> {
	// All tests send from one address.
	shared ??= startService(allTests, { hitsPerAddress: 1_000_000 });
	const { store, server } = await shared;
	clientCount++;
	const client = await addClient(store, { client: `acme${clientCount}`, plan });
	await server.directory.refresh();
	return servedAccount(server, store, client);
}
