import { chmodSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { bundle } from './bundles.ts';
import { type PostgresServer, startPostgres } from './core/store/postgres/server.ts';

let folder: string | undefined;
let server: PostgresServer | undefined;

const memoryDisk = '/dev/shm';
/** What the databases of one run may take. */
const neededBytes = 6 * 2 ** 30;

/**
 * One PostgreSQL server and one set of bundles for all tests of a run. A file that runs by itself starts its own server
 * and loads all modules as they are.
 */
export async function globalSetup(): Promise<void> {
	// Before the folder of temporary files is this run's: they are kept for the next.
	const bundles = process.env.TEST_BUNDLES ?? bundle().then((urls) => JSON.stringify(urls));
	// Hundreds of databases are made and removed, which takes a memory disk a fifth of the time.
	folder = mkdtempSync(join(hasMemoryDisk() ? memoryDisk : tmpdir(), 'caskade-tests-'));
	// PostgreSQL's user must reach its own folder in it.
	chmodSync(folder, 0o711);
	process.env.TMPDIR = folder;
	process.env.TEST_RUN_FOLDER = folder;
	server = await startPostgres();
	process.env.TEST_DATABASE_URL = server.url;
	process.env.TEST_BUNDLES = await bundles;
	// For the processes that tests start, too.
	process.env.NODE_OPTIONS = `--import=${pathToFileURL(join(import.meta.dirname, 'quick-loading.js'))}`;
}

export async function globalTeardown(): Promise<void> {
	await server?.stop();
	if (folder) rmSync(folder, { recursive: true, force: true });
}

function hasMemoryDisk(): boolean {
	try {
		const { bavail, bsize } = statfsSync(memoryDisk);
		return bavail * bsize > neededBytes;
	} catch {
		return false;
	}
}
