import type { ChildProcess } from 'node:child_process';
import { closeSync, cpSync, openSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import type { BareAnswer } from './bare-server.ts';
import { run, start, stop } from './processes.ts';
import { aid, bodies, nextPrefix } from './rows.ts';

const caskade = join(import.meta.dirname, '../src/main.js');

export interface RunningProcess {
	readonly url: string;
	readonly pid: number;
	stop(): Promise<void>;
}

export interface RunningCaskade extends RunningProcess {
	readonly metricsUrl: string;
	/** Events in the account's database, counted there. */
	countEvents(): number;
}

/** Data folders with an account, a key whose plan has no practical limit and one whose plan admits nothing. */
export class Caskade {
	readonly folder: string;
	readonly key: string;
	readonly limitedKey: string;
	#copies = 0;

	private constructor(folder: string, key: string, limitedKey: string) {
		this.folder = folder;
		this.key = key;
		this.limitedKey = limitedKey;
	}

	/** Makes a data folder with the command line, as an operator does. */
	static async prepare(folder: string): Promise<Caskade> {
		const command = (...args: string[]) =>
			run(process.execPath, [caskade, ...args, '--database', `sqlite:${join(folder, 'template')}`, '--json']);
		const plan = (name: string, rate: number, burst: number) =>
			command('plan', 'create', name, '--rate', `${rate}`, '--burst', `${burst}`, '--quota', `${10 ** 12}`);
		const issue = async (name: string) =>
			JSON.parse(await command('key', 'issue', '--client', 'bench', '--plan', name)).key;
		await command('account', 'create', aid, '--client', 'bench');
		await plan('unlimited', 1_000_000, 1_000_000);
		await plan('limited', 0.001, 1);
		return new Caskade(folder, await issue('unlimited'), await issue('limited'));
	}

	/** A fresh data folder for one server. */
	newDataFolder(): string {
		this.#copies++;
		const copy = join(this.folder, `data-${this.#copies}`);
		cpSync(join(this.folder, 'template'), copy, { recursive: true });
		return copy;
	}

	/** Starts `caskade serve` on a data folder, which goes away when it stops. */
	async serve(dataFolder = this.newDataFolder()): Promise<RunningCaskade> {
		const metricsPort = await freePort();
		const logPath = `${dataFolder}.log`;
		const flags = [
			'--database',
			`sqlite:${dataFolder}`,
			'--port',
			'0',
			'--metrics-port',
			String(metricsPort),
		];
		const log = openSync(logPath, 'w');
		const child = start(process.execPath, [caskade, 'serve', ...flags], { stdio: ['ignore', 'pipe', log] });
		closeSync(log);
		const url = await announcedUrl(child, () => readFileSync(logPath, 'utf8'));
		return {
			url,
			metricsUrl: `http://127.0.0.1:${metricsPort}/metrics`,
			pid: child.pid as number,
			countEvents() {
				const database = new DatabaseSync(join(dataFolder, 'accounts/1.sqlite'), { readOnly: true });
				const row = database.prepare('SELECT count(*) AS count FROM subscription_event').get();
				database.close();
				return Number(row?.count);
			},
			async stop() {
				await stop(child);
				rmSync(dataFolder, { recursive: true, force: true });
			},
		};
	}
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

async function freePort(): Promise<number> {
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
export function upload(url: string, key: string, rows: number): Promise<Omit<BareAnswer, 'parse'>> {
	return new Promise((resolve, reject) => {
		const outgoing = request(`${url}/subscription`, {
			method: 'POST',
			agent: false,
			headers: { 'content-type': 'application/json', ...(key && { 'x-api-key': key }) },
		});
		outgoing.once('error', reject);
		outgoing.once('response', async (response) => {
			const { rawHeaders } = response;
			const headers = rawHeaders.filter((_, index) => {
				const name = rawHeaders[index - (index % 2)] as string;
				return !ownHeaders.has(name.toLowerCase());
			});
			resolve({ status: response.statusCode as number, headers, body: await text(response) });
		});
		outgoing.end(bodies(nextPrefix(), rows)(1));
	});
}
