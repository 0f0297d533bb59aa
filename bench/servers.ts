import type { ChildProcess } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { freePort } from '../test/free-port.ts';
import type { BareAnswer } from './bare-server.ts';
import type { BenchDatabase, VisitorBytes } from './database.ts';
import { run, start, stop } from './processes.ts';
import { aidOf, bodyMaker, nextPrefix } from './upload-bodies.ts';

/** A version of the service: the runtime, and the file that is the `caskade` command. */
export interface Program {
	readonly node: string;
	readonly main: string;
}

/** What this folder belongs to. */
export const ownProgram: Program = {
	node: process.execPath,
	main: join(import.meta.dirname, '../src/main.js'),
};

export interface RunningProcess {
	readonly url: string;
	readonly pid: number;
	stop(): Promise<void>;
}

export interface RunningCaskade extends RunningProcess {
	readonly metricsUrl: string;
	readonly database: BenchDatabase;
}

/** The processes of a service: its own and, if there is one, that of the PostgreSQL server. */
export function pidsOf({ pid, database }: RunningCaskade): number[] {
	return database.enginePid === undefined ? [pid] : [pid, database.enginePid];
}

/** Runs a `caskade` command to its end. */
export function runCaskade(...args: string[]): Promise<string> {
	return runCommand(ownProgram, args);
}

function runCommand({ node, main }: Program, args: readonly string[]): Promise<string> {
	return run(node, [main, ...args]);
}

/**
 * Databases to measure on, and the service on them. Each has an account, a key with a practically unlimited plan, and a key
 * whose plan admits a single request.
 */
export class Caskade {
	/** The folder for logs and temporary files. */
	readonly folder: string;
	readonly key: string;
	readonly limitedKey: string;
	readonly #template: BenchDatabase;
	readonly #program: Program;
	readonly #populations = new Map<number, Promise<Population>>();

	private constructor(
		folder: string,
		template: BenchDatabase,
		program: Program,
		keys: { key: string; limitedKey: string },
	) {
		this.folder = folder;
		this.#template = template;
		this.#program = program;
		this.key = keys.key;
		this.limitedKey = keys.limitedKey;
	}

	/** Adds a client, an account, plans and keys to a new database, of which all others are copies. */
	static async prepare(
		folder: string,
		template: BenchDatabase,
		program: Program = ownProgram,
	): Promise<Caskade> {
		const command = (...args: string[]) =>
			runCommand(program, [...args, '--database', template.address, '--json']);
		const plan = (name: string, rate: number, burst: number) =>
			command('plan', 'create', name, '--rate', `${rate}`, '--burst', `${burst}`, '--quota', `${10 ** 12}`);
		const issue = async (name: string) =>
			JSON.parse(await command('key', 'issue', '--client', 'bench', '--plan', name)).key;
		await command('account', 'create', aidOf(1), '--client', 'bench');
		await plan('unlimited', 1_000_000, 1_000_000);
		await plan('limited', 0.001, 1);
		const keys = { key: await issue('unlimited'), limitedKey: await issue('limited') };
		return new Caskade(folder, template, program, keys);
	}

	/** Creates a database for one server. */
	newDatabase(): Promise<BenchDatabase> {
		return this.#template.copy();
	}

	/** Returns a database with visitors. It is created once and kept for later benchmarks. */
	populated(visitors: number): Promise<Population> {
		let population = this.#populations.get(visitors);
		if (!population) {
			population = this.newDatabase().then(async (database) => ({
				database,
				visitors,
				bytes: await database.addVisitors(visitors),
			}));
			this.#populations.set(visitors, population);
		}
		return population;
	}

	/** Starts `caskade serve`. Stopping it removes the database, unless that is `kept`. */
	async serve(given?: BenchDatabase, kept?: 'kept'): Promise<RunningCaskade> {
		const database = given ?? (await this.newDatabase());
		const metricsPort = await freePort();
		const logPath = join(this.folder, `${metricsPort}.log`);
		const flags = ['--database', database.address, '--port', '0', '--metrics-port', String(metricsPort)];
		// All hits come from one address, so its limits must be high.
		flags.push('--hits-per-address', '1000000', '--hits-per-visitor', '1000000');
		const log = openSync(logPath, 'w');
		const { node, main } = this.#program;
		const child = start(node, [main, 'serve', ...flags], { stdio: ['ignore', 'pipe', log] });
		closeSync(log);
		const url = await announcedUrl(child, () => readFileSync(logPath, 'utf8'));
		return {
			url,
			metricsUrl: `http://127.0.0.1:${metricsPort}/metrics`,
			pid: child.pid as number,
			database,
			async stop() {
				await stop(child);
				if (!kept) await database.remove();
			},
		};
	}
}

/** A database whose first account has visitors. */
export interface Population {
	readonly database: BenchDatabase;
	readonly visitors: number;
	readonly bytes: VisitorBytes;
}

/** Starts the hand-written service of `baseline/` on a database with its tables. */
export async function serveBaseline(database: string): Promise<RunningProcess> {
	const child = start(process.execPath, [join(import.meta.dirname, 'baseline/server.ts')], {
		stdio: ['ignore', 'pipe', 'inherit'],
		env: { DATABASE_URL: database, NODE_ENV: 'production' },
	});
	const url = await announcedUrl(child, () => '');
	return { url, pid: child.pid as number, stop: () => stop(child) };
}

/** Starts a bare `node:http` server that gives this answer to every request. */
export async function serveBare(answer: BareAnswer): Promise<RunningProcess> {
	const child = start(
		process.execPath,
		[join(import.meta.dirname, 'bare-server.ts'), JSON.stringify(answer)],
		{
			stdio: ['ignore', 'pipe', 'inherit'],
		},
	);
	const url = await announcedUrl(child, () => '');
	return { url, pid: child.pid as number, stop: () => stop(child) };
}

/** Waits for the first URL that a server prints, which it does once it is listening. */
async function announcedUrl(child: ChildProcess, log: () => string): Promise<string> {
	const lines = createInterface({ input: child.stdout as NonNullable<typeof child.stdout> });
	return new Promise((resolve, reject) => {
		lines.on('line', (line) => {
			const [url] = /http:\/\/[\d.:]+/.exec(line) ?? [];
			if (url) resolve(url);
		});
		child.once('error', reject);
		child.once('exit', (code) =>
			reject(new Error(`${child.spawnargs.join(' ')} exited with ${code}.\n${log()}`)),
		);
	});
}

/** Headers that Node adds to every answer. */
const nodeHeaders = new Set(['date', 'connection', 'keep-alive', 'transfer-encoding']);

/** Sends one upload on a new connection. */
export function upload(url: string, key: string, rows: number): Promise<Answer> {
	return ask(`${url}/subscription`, {
		method: 'POST',
		headers: { 'content-type': 'application/json', ...(key && { 'x-api-key': key }) },
		body: bodyMaker(nextPrefix(), rows)(1),
	});
}

export type Answer = Omit<BareAnswer, 'parse'>;

/** Sends one request on a new connection. @returns the answer without the headers that Node adds */
export function ask(
	url: string,
	{
		method,
		headers = {},
		body = '',
	}: { method: string; headers?: Readonly<Record<string, string>>; body?: string },
): Promise<Answer> {
	return new Promise((resolve, reject) => {
		const outgoing = request(url, { method, agent: false, headers });
		outgoing.once('error', reject);
		outgoing.once('response', async (response) => {
			const { rawHeaders } = response;
			const headers = rawHeaders.filter((_, index) => {
				const name = rawHeaders[index - (index % 2)] as string;
				return !nodeHeaders.has(name.toLowerCase());
			});
			resolve({ status: response.statusCode as number, headers, body: await text(response) });
		});
		outgoing.end(body);
	});
}
