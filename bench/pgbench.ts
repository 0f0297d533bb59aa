import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventTable } from './postgres-database.ts';
import { run } from './processes.ts';
import { nextPrefix, type Tids } from './upload-bodies.ts';
import { connections } from './wrk.ts';

export interface PgbenchLoad {
	readonly address: string;
	/** Events per INSERT. */
	readonly rows: number;
	readonly tids: Tids;
	readonly seconds: number;
	/** The folder for its script. */
	readonly folder: string;
}

/**
 * A baseline: the throughput of PostgreSQL alone. As many clients as the HTTP load has connections repeat the service's
 * INSERT, each time in a transaction.
 */
export async function pgbench(load: PgbenchLoad): Promise<{ transactions: number; perSecond: number }> {
	const script = join(load.folder, 'insert.pgbench');
	writeFileSync(script, scriptOf(load));
	const output = await run('pgbench', [
		'--no-vacuum',
		`--client=${connections}`,
		'--jobs=1',
		`--time=${load.seconds}`,
		`--file=${script}`,
		'--define=n=0',
		load.address,
	]);
	const number = (pattern: RegExp) => Number(pattern.exec(output)?.[1]);
	const failed = number(/failed transactions: (\d+)/);
	const transactions = number(/actually processed: (\d+)/);
	if (!(transactions > 0) || failed > 0)
		throw new Error(`pgbench: ${failed} transactions failed:\n${output}`);
	return { transactions, perSecond: number(/tps = ([\d.]+)/) };
}

/** As in `uploads.lua`, rising numbers all have the same length, and those of different clients are close together. */
function scriptOf({ rows, tids }: PgbenchLoad): string {
	const prefix = nextPrefix();
	const numbers = Array.from({ length: rows }, (_, index) => index + 1);
	const set =
		tids === 'rising'
			? [`\\set n :n + 1`, `\\set request 10000000 + :n * ${connections} + :client_id`]
			: numbers.map((row) => `\\set tid${row} random(1000000000000000000, 9000000000000000000)`);
	const values = numbers.map((row) => {
		const tid =
			tids === 'rising' ? `o-${prefix}-:request-${padded(row, 2)}` : `:tid${row}-${prefix}-${padded(row, 2)}`;
		return `('${tid}', 'sub-${padded(row * 37, 6)}', 'cust-${padded(row * 91, 6)}', 'newsletter', ${1000 + row}, 1700000000000)`;
	});
	const insert = `INSERT INTO ${eventTable} (tid, subid, cid, evt, rvn, received_at) VALUES ${values.join(', ')} ON CONFLICT (tid) DO NOTHING RETURNING tid;`;
	return `${[...set, insert].join('\n')}\n`;
}

function padded(number: number, length: number): string {
	return String(number).padStart(length, '0');
}

/** @throws Error that says how to install pgbench, if it is missing */
export async function requirePgbench(): Promise<void> {
	try {
		await run('pgbench', ['--version']);
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === 'ENOENT')
			throw new Error(
				"These benchmarks need pgbench, which is not installed. Install it with 'apt-get install postgresql' (Debian), 'apt-get install postgresql-contrib' (Ubuntu) or 'brew install postgresql' (macOS).",
			);
		throw error;
	}
}
