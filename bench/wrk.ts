import { join } from 'node:path';
import { run } from './processes.ts';
import { nextPrefix, type Tids } from './rows.ts';

/** Connections that wrk keeps busy, from one thread. */
export const connections = 64;

export interface Load {
	/** Events of a request. */
	readonly rows: number;
	/** None where it is empty. */
	readonly key: string;
	/** `same`: every request is the same. */
	readonly tids: Tids | 'same';
	/** How many they are spread over, at random; 1 where it is missing. */
	readonly accounts?: number;
	/** How many the events' `cid`s are spread over, at random; without it they are a few that nobody has shown. */
	readonly customers?: number;
}

export interface WrkResult {
	readonly requests: number;
	readonly seconds: number;
	/** Answers with a status of 400 or more. */
	readonly refused: number;
	/** Requests without a whole answer. */
	readonly broken: number;
}

/** One of the scripts beside this file, and what it reads from its environment. */
export interface Script {
	readonly file: string;
	readonly env: Readonly<Record<string, string>>;
}

/** Uploads. */
export function uploads({ rows, key, tids, accounts = 1, customers = 0 }: Load): Script {
	return {
		file: 'upload.lua',
		env: {
			ROWS: String(rows),
			KEY: key,
			TIDS: tids,
			ACCOUNTS: String(accounts),
			CUSTOMERS: String(customers),
			PREFIX: nextPrefix(),
		},
	};
}

/** Puts a server under as much load of uploads as it takes. */
export function wrk(url: string, load: Load, seconds: number): Promise<WrkResult> {
	return wrkScript(url, uploads(load), seconds);
}

/** Puts a server under as much load as it takes. */
export async function wrkScript(
	url: string,
	{ file, env }: Script,
	seconds: number,
	clients = connections,
): Promise<WrkResult> {
	const script = join(import.meta.dirname, file);
	const output = await run('wrk', ['-t1', `-c${clients}`, `-d${seconds}s`, '-s', script, url], {
		...env,
		SUMMARY: join(import.meta.dirname, 'summary.lua'),
	});
	return JSON.parse(output.trim().split('\n').at(-1) as string);
}

/** @throws Error in one sentence where wrk is not installed */
export async function requireWrk(): Promise<void> {
	try {
		// `wrk --version` prints it and exits 1.
		await run('wrk', ['--version']);
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === 'ENOENT')
			throw new Error(
				"The bench loads the servers with wrk, which is not installed: 'apt-get install wrk' (Debian, Ubuntu), 'dnf install wrk' (Fedora) or 'brew install wrk' (macOS) brings it.",
			);
	}
}
