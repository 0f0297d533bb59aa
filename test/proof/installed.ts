import { execFileSync } from 'node:child_process';
import { chmodSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { temporaryFolder } from '../support.ts';

export interface Installed {
	readonly installed: string;
	readonly program: string;
}

/** Installs a packed package where nothing else is, and takes the right to write there from everybody. */
export async function install(
	t: TestContext,
	name: string,
	build: (folder: string) => string | Promise<string>,
): Promise<Installed> {
	let writable = () => {};
	// Before the folder is removed.
	t.after(() => writable());
	const folder = temporaryFolder(t);
	chmodSync(folder, 0o755);
	const run = (program: string, ...args: string[]) =>
		execFileSync(program, args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
	await build(join(folder, 'built'));
	const [{ filename }] = JSON.parse(run('npm', 'pack', '--json', join(folder, 'built'))) as [
		{ filename: string },
	];
	rmSync(join(folder, 'built'), { recursive: true });
	const prefix = join(folder, 'prefix');
	run('npm', 'install', '--global', '--prefix', prefix, '--no-audit', '--no-fund', join(folder, filename));
	const installed = join(prefix, 'lib/node_modules', name);
	for (const path of [installed, ...readdirSync(installed, { recursive: true, encoding: 'utf8' })]) {
		const whole = path === installed ? path : join(installed, path);
		chmodSync(whole, statSync(whole).isDirectory() ? 0o555 : 0o444 | (statSync(whole).mode & 0o111));
	}
	writable = () => void execFileSync('chmod', ['-R', 'u+w', installed]);
	return { installed, program: join(prefix, 'bin', name) };
}
