/**
 * `npm run proof:first-minutes` counts how long it takes from a package's file to the first event that is stored, and to the first
 * picture in the console: install, start, paste the line, make up visitors, follow the link. The file is there before, as one
 * that was downloaded, and npm has the other packages where it keeps them.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { buildPackages } from '../../.ci/build.ts';
import { launchBrowser } from '../core/collect/browser.ts';
import { ServeProcess, TestProcess } from '../process.ts';

export interface FirstMinutes {
	/** Since the installation began, in seconds. */
	readonly installed: number;
	readonly stored: number;
	readonly seen: number;
}

export async function firstMinutes(): Promise<FirstMinutes> {
	const folder = mkdtempSync(join(tmpdir(), 'caskade-first-minutes-'));
	const browser = await launchBrowser();
	try {
		const [packed = ''] = await buildPackages(join(folder, 'dist'));
		const install = () => {
			const prefix = ['--global', '--prefix', join(folder, 'prefix'), '--no-audit', '--no-fund'];
			execFileSync('npm', ['install', ...prefix, packed], { stdio: 'pipe' });
		};
		// Once before, so that npm has everything.
		install();
		rmSync(join(folder, 'prefix'), { recursive: true });

		const beganMs = performance.now();
		const seconds = () => (performance.now() - beganMs) / 1000;
		install();
		const installed = seconds();
		const program = join(folder, 'prefix/bin/caskade');
		const environment = {
			NODE_OPTIONS: '',
			PATH: `${dirname(process.execPath)}:/usr/bin:/bin`,
			CASKADE_DATABASE: `sqlite:${join(folder, 'data')}`,
		};
		await using server = new ServeProcess(program, ['serve', '--demo', '--port', '0'], environment);
		const [line] = await server.printed(/^curl .+$/m);
		const { stdout } = await new TestProcess('bash', ['-c', line], {}).ended;
		assert.match(stdout, /^HTTP\/1\.1 201 /);
		const stored = seconds();

		const [link] = await server.printed(/^http\S+\?link=\S+$/m);
		const demo = await new TestProcess(program, ['demo'], environment).ended;
		assert.equal(demo.code, 0, demo.stderr);
		const page = await browser.newPage();
		page.setDefaultTimeout(120_000);
		await page.goto(link);
		for (const button of await page.locator('form button').all())
			if (page.url().includes('sign-in')) await button.click();
		await page.locator('main svg').first().waitFor();
		return { installed, stored, seen: seconds() };
	} finally {
		await browser.close();
		rmSync(folder, { recursive: true });
	}
}

if (import.meta.main) {
	const { installed, stored, seen } = await firstMinutes();
	const at = (what: string, seconds: number) =>
		console.log(`${what.padEnd(28)} ${seconds.toFixed(1).padStart(5)} s`);
	at('installed', installed);
	at('first event answered with 201', stored);
	at('first picture in the console', seen);
	process.exit();
}
