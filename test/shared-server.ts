import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import type { UsagePlan } from '../src/domain/usage-plan.ts';
import type { RunningServer } from '../src/server.ts';
import { openStore } from '../src/store/open.ts';
import type { Store } from '../src/store/store.ts';
import { addClient, type ServedAccount, servedAccount, startOn } from './support.ts';

interface SharedServer {
	readonly store: Store;
	readonly server: RunningServer;
	readonly folder: string;
}

/** Shared by the tests of this process. */
let shared: Promise<SharedServer> | undefined;
let clientCount = 0;

// Registered here, because a hook registered inside a test would run when that test ends.
after(async () => {
	if (!shared) return;
	const { store, server, folder } = await shared;
	await server.stop();
	await store.close();
	rmSync(folder, { recursive: true });
});

/**
 * A new client with an account on a server that the tests of this process share: a start costs many times as much as an
 * account, and accounts have databases of their own. A test of what accounts share (the log, metrics, settings, clock and
 * end of a server) starts its own.
 */
export async function openAccount(plan: Partial<UsagePlan> = {}): Promise<ServedAccount> {
	shared ??= startShared();
	const { store, server } = await shared;
	clientCount++;
	const client = await addClient(store, { client: `acme${clientCount}`, plan });
	await server.directory.refresh();
	return servedAccount(server, store, client);
}

async function startShared(): Promise<SharedServer> {
	const folder = mkdtempSync(join(tmpdir(), 'caskade-test-'));
	const store = await openStore(`sqlite:${folder}`);
	// All tests send from one address.
	const server = await startOn(folder, { hitsPerAddress: 1_000_000 }, []);
	return { store, server, folder };
}
