import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

/** Processes and folders to remove when the benchmark ends, for any reason but SIGKILL. */
const running = new Set<ChildProcess>();
const folders = new Set<string>();
const pids = new Set<number>();

process.on('exit', () => {
	for (const child of running) child.kill('SIGKILL');
	for (const pid of pids) {
		try {
			process.kill(pid, 'SIGKILL');
		} catch {
			// It has ended already.
		}
	}
	for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});
for (const [signal, code] of [
	['SIGINT', 130],
	['SIGTERM', 143],
	['SIGHUP', 129],
] as const)
	process.on(signal, () => process.exit(code));

/** Without the user's `CASKADE_…` variables, which would change the service's settings. */
const environment = Object.fromEntries(
	Object.entries(process.env).filter(([name]) => !name.startsWith('CASKADE_')),
);

/** Starts a program that is killed when the benchmark ends. */
export function start(program: string, args: readonly string[], options: SpawnOptions = {}): ChildProcess {
	const child = spawn(program, args, { ...options, env: { ...environment, ...options.env } });
	running.add(child);
	child.once('exit', () => running.delete(child));
	child.once('error', () => running.delete(child));
	return child;
}

/** Kills a process when the benchmark ends, even if `start` did not start it. */
export function endWithBench(pid: number): void {
	pids.add(pid);
}

/** Asks a process to stop and waits until it has. */
export async function stop(child: ChildProcess, graceMs = 30_000): Promise<void> {
	if (child.exitCode !== null || child.signalCode !== null) return;
	const exited = once(child, 'exit');
	const timer = setTimeout(() => child.kill('SIGKILL'), graceMs);
	child.kill('SIGTERM');
	await exited;
	clearTimeout(timer);
	if (child.signalCode === 'SIGKILL')
		throw new Error(`${child.spawnargs.join(' ')} did not stop within ${graceMs} ms.`);
}

/** Runs a program to its end. @returns its standard output @throws Error with its output if it fails */
export async function run(
	program: string,
	args: readonly string[],
	env: NodeJS.ProcessEnv = {},
): Promise<string> {
	const child = start(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env });
	const output = Promise.all([
		text(child.stdout as NonNullable<typeof child.stdout>),
		text(child.stderr as NonNullable<typeof child.stderr>),
	]);
	const [code] = await once(child, 'close');
	const [stdout, stderr] = await output;
	if (code !== 0) throw new Error(`${program} ${args.join(' ')} failed:\n${stderr}${stdout}`);
	return stdout;
}

/** Runs a program of this folder that takes one JSON document as its argument and prints another. */
export async function runProgram<Result>(file: string, input: object): Promise<Result> {
	return JSON.parse(await run(process.execPath, [join(import.meta.dirname, file), JSON.stringify(input)]));
}

const tmpfs = 0x01021994;

/** Creates a folder that is removed when the benchmark ends. Avoids tmpfs if it can, because that is not durable. */
export function temporaryFolder(parent: string | undefined): string {
	const inMemory = statfsSync(tmpdir()).type === tmpfs;
	const folder = mkdtempSync(
		join(parent ?? (inMemory && existsSync('/var/tmp') ? '/var/tmp' : tmpdir()), 'caskade-bench-'),
	);
	folders.add(folder);
	return folder;
}
