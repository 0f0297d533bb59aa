import { TestProcess } from './process.ts';

const holdLock = `
const { DatabaseSync } = require('node:sqlite');
const database = new DatabaseSync(process.argv[1], { timeout: 5000 });
database.exec('BEGIN IMMEDIATE');
process.stdout.write('locked');
process.stdin.resume();
`;

export interface HeldLock extends AsyncDisposable {
	/** Releases the lock. May be called more than once. */
	release(): Promise<void>;
}

/** Starts a process that takes a database's write lock and keeps it, like one that hangs. */
export async function lockDatabase(path: string): Promise<HeldLock> {
	const holder = new TestProcess(process.execPath, ['-e', holdLock, path]);
	await holder.printed(/locked/);
	const release = async () => {
		await holder.kill();
	};
	return { release, [Symbol.asyncDispose]: release };
}
