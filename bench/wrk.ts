import { join } from 'node:path';
import { run } from './processes.ts';
import { nextPrefix, type Tids } from './upload-bodies.ts';

/** Connections of a load generator. */
export const connections = 64;

export interface Load {
	/** Events per request. */
	readonly rows: number;
	/** The API key. If empty, none is sent. */
	readonly key: string;
	/** With `same`, all requests are identical. */
	readonly tids: Tids | 'same';
	/** Each request goes to a random one of this many accounts; the default is 1. */
	readonly accounts?: number;
	/** Each event has the `cid` of a random one of this many visitors. By default, its `cid` belongs to no visitor. */
	readonly customers?: number;
}

export interface WrkResult {
	readonly requests: number;
	readonly seconds: number;
	/** Answers with a status of 400 or more. */
	readonly refused: number;
	/** Requests without a complete answer. */
	readonly broken: number;
}

/** A wrk script in this folder, and its environment variables. */
export interface Script {
	readonly file: string;
	readonly env: Readonly<Record<string, string>>;
}

/** A wrk script that sends uploads whose `tid`s are new. */
export function uploads({ rows, key, tids, accounts = 1, customers = 0 }: Load): Script {
	return {
		file: 'uploads.lua',
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

/** Sends uploads at the server's maximum throughput. */
export function wrk(url: string, load: Load, seconds: number): Promise<WrkResult> {
	return wrkScript(url, uploads(load), seconds);
}

/** Sends the requests of a script at the server's maximum throughput: closed loop, `clients` connections, one thread. */
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

/** @throws Error that says how to install wrk, if it is missing */
export async function requireWrk(): Promise<void> {
	try {
		// `wrk --version` exits with 1 even when it succeeds.
		await run('wrk', ['--version']);
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === 'ENOENT')
			throw new Error(
				"The benchmarks need the load generator wrk, which is not installed. Install it with 'apt-get install wrk' (Debian, Ubuntu), 'dnf install wrk' (Fedora) or 'brew install wrk' (macOS).",
			);
	}
}
