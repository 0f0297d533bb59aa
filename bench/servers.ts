import type { ChildProcess } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import type { BareAnswer } from './bare-server.ts';
import type { Place, VisitorBytes } from './place.ts';
import { run, start, stop } from './processes.ts';
import { aidOf, bodies, nextPrefix } from './rows.ts';

const caskade = join(import.meta.dirname, '../src/main.js');

export interface RunningProcess {
	readonly url: string;
	readonly pid: number;
	stop(): Promise<void>;
}

export interface RunningCaskade extends RunningProcess {
	readonly metricsUrl: string;
	readonly place: Place;
}

/** Of a service and, where it is a process of its own, its engine. */
export function pidsOf({ pid, place }: RunningCaskade): number[] {
	return place.enginePid === undefined ? [pid] : [pid, place.enginePid];
}

/** Runs a command to its end. */
export function runCaskade(...args: string[]): Promise<string> {
	return run(process.execPath, [caskade, ...args]);
}

/** Places with an account, a key whose plan has no practical limit and one whose plan admits nothing. */
export class Caskade {
	/** For logs, and what else a measurement needs. */
	readonly folder: string;
	readonly key: string;
	readonly limitedKey: string;
	readonly #template: Place;
	readonly #populations = new Map<number, Promise<Population>>();

	private constructor(folder: string, template: Place, key: string, limitedKey: string) {
		this.folder = folder;
		this.#template = template;
		this.key = key;
		this.limitedKey = limitedKey;
	}

	/** Fills an empty place with the command line, as an operator does. */
	static async prepare(folder: string, template: Place): Promise<Caskade> {
		const command = (...args: string[]) => runCaskade(...args, '--database', template.address, '--json');
		const plan = (name: string, rate: number, burst: number) =>
			command('plan', 'create', name, '--rate', `${rate}`, '--burst', `${burst}`, '--quota', `${10 ** 12}`);
		const issue = async (name: string) =>
			JSON.parse(await command('key', 'issue', '--client', 'bench', '--plan', name)).key;
		await command('account', 'create', aidOf(1), '--client', 'bench');
		await plan('unlimited', 1_000_000, 1_000_000);
		await plan('limited', 0.001, 1);
		return new Caskade(folder, template, await issue('unlimited'), await issue('limited'));
	}

	/** A fresh place for one server. */
	newPlace(): Promise<Place> {
		return this.#template.copy();
	}

	/** A place with so many visitors, made once and kept for the lines that come after. */
	populated(visitors: number): Promise<Population> {
		let population = this.#populations.get(visitors);
		if (!population) {
			population = this.newPlace().then(async (place) => ({
				place,
				visitors,
				bytes: await place.addVisitors(visitors),
			}));
			this.#populations.set(visitors, population);
		}
		return population;
	}

	/** Starts `caskade serve` on a place, which goes away when it stops, unless it is to be kept. */
	async serve(given?: Place, kept?: 'kept', workers = 1): Promise<RunningCaskade> {
		const place = given ?? (await this.newPlace());
		const metricsPort = await freePort();
		const logPath = join(this.folder, `${metricsPort}.log`);
		const flags = ['--database', place.address, '--port', '0', '--metrics-port', String(metricsPort)];
		// All hits come from one address.
		flags.push('--hits-per-address', '1000000', '--hits-per-visitor', '1000000');
		if (workers > 1) flags.push('--workers', String(workers));
		const log = openSync(logPath, 'w');
		const child = start(process.execPath, [caskade, 'serve', ...flags], { stdio: ['ignore', 'pipe', log] });
		closeSync(log);
		const url = await announcedUrl(child, () => readFileSync(logPath, 'utf8'));
		return {
			url,
			metricsUrl: `http://127.0.0.1:${metricsPort}/metrics`,
			pid: child.pid as number,
			place,
			async stop() {
				await stop(child);
				if (!kept) await place.remove();
			},
		};
	}
}

/** A place whose first account has visitors. */
export interface Population {
	readonly place: Place;
	readonly visitors: number;
	readonly bytes: VisitorBytes;
}

/** Starts the hand-written service of `baseline/` on a database that has its tables. */
export async function serveBaseline(database: string): Promise<RunningProcess> {
	const child = start(process.execPath, [join(import.meta.dirname, 'baseline/server.ts')], {
		stdio: ['ignore', 'pipe', 'inherit'],
		env: { DATABASE_URL: database, NODE_ENV: 'production' },
	});
	const url = await announcedUrl(child, () => '');
	return { url, pid: child.pid as number, stop: () => stop(child) };
}

/** Starts a bare server that gives this answer to everything. */
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

/** The first URL that a server prints; it listens there then. */
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

/** A port of loopback that nobody listens on. */
export async function freePort(): Promise<number> {
	const server = createServer();
	return new Promise((resolve) => {
		server.listen(0, '127.0.0.1', () => {
			const { port } = server.address() as AddressInfo;
			server.close(() => resolve(port));
		});
	});
}

/** What Node adds to every answer by itself. */
const ownHeaders = new Set(['date', 'connection', 'keep-alive', 'transfer-encoding']);

/** Sends one upload over a connection of its own and gives the answer. */
export function upload(url: string, key: string, rows: number): Promise<Answer> {
	return ask(`${url}/subscription`, {
		method: 'POST',
		headers: { 'content-type': 'application/json', ...(key && { 'x-api-key': key }) },
		body: bodies(nextPrefix(), rows)(1),
	});
}

export type Answer = Omit<BareAnswer, 'parse'>;

/** Sends one request over a connection of its own and gives the answer. */
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
			const ownless = rawHeaders.filter((_, index) => {
				const name = rawHeaders[index - (index % 2)] as string;
				return !ownHeaders.has(name.toLowerCase());
			});
			resolve({ status: response.statusCode as number, headers: ownless, body: await text(response) });
		});
		outgoing.end(body);
	});
}
