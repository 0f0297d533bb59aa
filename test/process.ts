import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { eventually, patience } from './eventually.ts';
import { temporaryFolder } from './support.ts';
import { openStore } from './whole.ts';

const projectFolder = join(import.meta.dirname, '..');
export const mainPath = join(projectFolder, 'src/main.js');

/** Processes of tests that run longer are killed, so that their test fails. A proof that is run by itself takes its time. */
const killAfterMs = process.env.NODE_TEST_CONTEXT === undefined ? undefined : 900_000;

type Environment = Readonly<Record<string, string>>;

/** Exit code and output of a process. */
export interface Ended {
	readonly code: number | null;
	readonly signal: NodeJS.Signals | null;
	readonly stdout: string;
	readonly stderr: string;
}

/** A process of a test, with its output. It is killed at the end of the block that declares it. */
export class TestProcess implements AsyncDisposable {
	readonly child: ChildProcess;
	readonly ended: Promise<Ended>;
	stdout = '';
	stderr = '';

	/** @param environment added to this process's environment without the variables of Caskade and the test runner */
	constructor(
		command: string,
		args: readonly string[],
		environment: Environment = {},
		folder = projectFolder,
	) {
		const inherited = Object.entries(process.env).filter(([name]) => !/^(CASKADE|NODE_TEST)_/.test(name));
		this.child = spawn(command, args, {
			cwd: folder,
			env: { ...Object.fromEntries(inherited), ...environment },
			stdio: ['pipe', 'pipe', 'pipe'],
			timeout: killAfterMs,
			killSignal: 'SIGKILL',
		});
		this.child.stdout?.setEncoding('utf8').on('data', (text) => {
			this.stdout += text;
		});
		this.child.stderr?.setEncoding('utf8').on('data', (text) => {
			this.stderr += text;
		});
		// The process may end before it has read its input.
		this.child.stdin?.on('error', () => {});
		this.ended = once(this.child, 'close').then(([code, signal]) => ({
			code,
			signal,
			stdout: this.stdout,
			stderr: this.stderr,
		}));
	}

	/** Waits until standard output matches `pattern`. */
	async printed(pattern: RegExp): Promise<RegExpExecArray> {
		const over = this.ended.then(() => true);
		for (;;) {
			const found = pattern.exec(this.stdout);
			if (found) return found;
			const ended = await Promise.race([over, once(this.child.stdout as NodeJS.ReadableStream, 'data')]);
			if (ended === true && !pattern.test(this.stdout))
				assert.fail(`ended without printing ${pattern}: ${this.stdout}${this.stderr}`);
		}
	}

	/** Waits for the process to end by itself. Fails if it does not end within the promised time. */
	async endsWithin(promisedMs: number): Promise<Ended> {
		const ended = new AbortController();
		const hangs = delay(promisedMs * patience, undefined, { signal: ended.signal }).then(() =>
			assert.fail(`the process hangs: ${this.child.spawnargs.join(' ')}\n${this.stdout}${this.stderr}`),
		);
		try {
			return await Promise.race([this.ended, hangs]);
		} finally {
			ended.abort();
			hangs.catch(() => {});
		}
	}

	kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<Ended> {
		this.child.kill(signal);
		return this.ended;
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await this.kill();
	}
}

/** Runs a `caskade` command to its end. All but `serve` run in this process, because starting another takes long. */
export function caskade(args: readonly string[], environment: Environment = {}): Promise<Ended> {
	return args[0] === 'serve' ? caskadeProcess(args, environment) : caskadeWithin(args, environment);
}

/** Runs a `caskade` command to its end in this process. `serve` only works here if it is refused. */
export async function caskadeWithin(args: readonly string[], environment: Environment = {}): Promise<Ended> {
	// Loaded only when needed, because it loads all commands.
	const { runInProcess } = await import('./in-process.ts');
	return { ...(await runInProcess(args, environment)), signal: null };
}

/** Runs a `caskade` command to its end in another process. */
export function caskadeProcess(args: readonly string[], environment: Environment = {}): Promise<Ended> {
	return new TestProcess(process.execPath, [mainPath, ...args], environment).ended;
}

/** Whether there is the command `script` of util-linux, which runs another one on a terminal. */
export const hasTerminals = process.platform === 'linux' && existsSync('/usr/bin/script');

/** Runs a `caskade` command on a terminal of its own, and types a line when it asks. Output and errors come together. */
export async function onTerminal(args: readonly string[], line: string): Promise<Ended> {
	const quoted = [process.execPath, mainPath, ...args].map((word) => `'${word}'`).join(' ');
	await using terminal = new TestProcess('/usr/bin/script', ['-qec', quoted, '/dev/null']);
	terminal.child.stdout?.on('data', (text: string) => {
		if (/Type \S+ to go on: /.test(text)) terminal.child.stdin?.write(`${line}\n`);
	});
	return await terminal.ended;
}

/** Runs a `caskade` command that must succeed. @returns the JSON document that it prints with `--json` */
export async function caskadeJson(args: readonly string[], environment: Environment = {}): Promise<unknown> {
	const ended = await caskade([...args, '--json'], environment);
	assert.equal(ended.stderr, '');
	assert.equal(ended.code, 0);
	return JSON.parse(ended.stdout);
}

/** Asserts that a command was refused: exit code 1, no output, and one sentence on standard error. */
export function assertRefused(ended: Ended, sentence: RegExp): void {
	assert.match(ended.stderr, sentence);
	assert.match(ended.stderr, /^[^\n]+\.\n$/);
	assert.equal(ended.stdout, '');
	assert.equal(ended.code, 1);
}

/** Asserts that a command line was invalid: exit code 1, no output, and the error on standard error. */
export function assertMisused(ended: Ended, error: RegExp): void {
	assert.match(ended.stderr, error);
	assert.match(ended.stderr, /^caskade: [^\n]+[.?]\n$/);
	assert.equal(ended.stdout, '');
	assert.equal(ended.code, 1);
}

/** Polls until a condition holds that is promised within a second. */
export async function withinASecond(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
	await eventually(what, holds, 1000);
}

/** A server in another process. */
export class ServeProcess extends TestProcess {
	url = '';

	static async start(args: readonly string[], environment: Environment = {}): Promise<ServeProcess> {
		const server = new ServeProcess(
			process.execPath,
			[mainPath, 'serve', '--port', '0', ...args],
			environment,
		);
		try {
			server.url = (await server.printed(/serves at (https?:\S+) /))[1] as string;
		} catch (error) {
			await server.kill();
			throw error;
		}
		return server;
	}

	get port(): number {
		return Number(new URL(this.url).port);
	}

	/** Uploads as a client does. */
	upload(key: string, body: unknown): Promise<Response> {
		return fetch(`${this.url}/subscription`, {
			method: 'POST',
			headers: { 'content-type': 'application/json', 'x-api-key': key },
			body: JSON.stringify(body),
		});
	}
}

/** The flags for a new, unused data folder. */
export async function emptyInstallation(t: TestContext): Promise<string[]> {
	const address = `sqlite:${temporaryFolder(t)}`;
	await (await openStore(address)).close();
	return ['--database', address];
}
