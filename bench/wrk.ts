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
}

export interface WrkResult {
	readonly requests: number;
	readonly seconds: number;
	/** Answers with a status of 400 or more. */
	readonly refused: number;
	/** Requests without a whole answer. */
	readonly broken: number;
}

/** Puts a server under as much load as it takes. */
export async function wrk(url: string, load: Load, seconds: number): Promise<WrkResult> {
	const output = await run(
		'wrk',
		[
			'-t1',
			`-c${connections}`,
			`-d${seconds}s`,
			'-s',
			join(import.meta.dirname, 'upload.lua'),
			`${url}/subscription`,
		],
		{
			ROWS: String(load.rows),
			KEY: load.key,
			TIDS: load.tids,
			ACCOUNTS: String(load.accounts ?? 1),
			PREFIX: nextPrefix(),
		},
	);
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
