/**
 * `npm run release VERSION` makes a release of what is committed: it runs `.ci/run` on a clean clone, makes "Unreleased" of
 * `CHANGELOG.md` the section of this version, writes the version wherever it stands, commits, makes the files that are published, and
 * tags. It pushes nothing.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';

/** A release that cannot be made; the message says why. */
export class ReleaseRefused extends Error {
	override readonly name = 'ReleaseRefused';
}

const heading = '## Unreleased\n';
/** Where the first changelog says what it will be. */
const announcement = /^To become .+\n+/m;

/**
 * The changelog in which what is unreleased has become a version.
 * @param day of the release, for example 2026-11-21
 * @throws ReleaseRefused where nothing is unreleased, or the version is not later than all others
 */
export function releasedChangelog(changelog: string, version: string, day: string): string {
	const parts = /^(\d+)\.(\d+)\.(\d+)$/.exec(version);
	if (!parts) throw new ReleaseRefused(`${version} is no version such as 1.0.0.`);
	const [before = '', after] = changelog.split(heading);
	if (after === undefined) throw new ReleaseRefused('CHANGELOG.md has no section "## Unreleased".');
	const [, changes = '', earlier = ''] = /^(.*?)(\n## .*)?$/s.exec(after) ?? [];
	if (!/^- /m.test(changes)) throw new ReleaseRefused('"Unreleased" in CHANGELOG.md is empty.');
	const [, latest = '0.0.0'] = /^## (\d+\.\d+\.\d+)/m.exec(earlier) ?? [];
	if (latest.localeCompare(version, 'en', { numeric: true }) >= 0)
		throw new ReleaseRefused(`${version} is not later than ${latest}, the latest version in CHANGELOG.md.`);
	const released = changes.replace(announcement, '').trim();
	return `${before}${heading}\n## ${version} – ${day}\n\n${released}\n${earlier}`;
}

/**
 * Makes a release.
 * @param folder a git work tree
 * @throws ReleaseRefused where something is not committed, nothing is unreleased, or `.ci/run` fails
 */
export function release(folder: string, version: string, day: string): void {
	const git = (...options: string[]) =>
		execFileSync('git', options, { cwd: folder, encoding: 'utf8' }).trim();
	const path = (name: string) => join(folder, name);
	const branch = git('branch', '--show-current');
	if (branch !== 'main')
		throw new ReleaseRefused(`Releases are made of main, not of ${branch || 'a commit'}.`);
	if (git('status', '--porcelain') !== '') throw new ReleaseRefused('Something is not committed.');
	const changelog = releasedChangelog(readFileSync(path('CHANGELOG.md'), 'utf8'), version, day);
	runChecks(folder);
	compareWithLast(folder, git);

	const before: string = JSON.parse(readFileSync(path('package.json'), 'utf8')).version;
	writeFileSync(path('CHANGELOG.md'), changelog);
	execFileSync('npm', ['version', version, '--no-git-tag-version', '--allow-same-version'], { cwd: folder });
	for (const name of git('grep', '-lF', before, '--', ...namesVersion).split('\n')) {
		const text = readFileSync(path(name), 'utf8');
		writeFileSync(path(name), text.replaceAll(before, version));
	}
	git('commit', '--all', '--message', `chore: release ${version}`);
	makeFiles(folder, git);
	git('tag', '--annotate', `v${version}`, '--message', `Caskade ${version}`);
}

/** Whatever else names the version. */
const namesVersion = [
	...['README.md', 'docs', 'Dockerfile', 'compose.yaml', 'deploy'],
	...['client/package.json', 'client/README.md', 'client/tag'],
];

/** In a process of its own, which finds the new version. */
function makeFiles(folder: string, git: (...options: string[]) => string): void {
	try {
		execFileSync('npm', ['run', 'release:files'], { cwd: folder, stdio: 'inherit' });
	} catch {
		git('reset', '--quiet', '--hard', 'HEAD^');
		throw new ReleaseRefused('The files of the release cannot be made.');
	}
}

function runChecks(folder: string): void {
	const clone = mkdtempSync(join(tmpdir(), 'caskade-release-'));
	try {
		execFileSync('git', ['clone', '--quiet', folder, clone]);
		execFileSync('bash', ['.ci/run'], { cwd: clone, stdio: 'inherit' });
	} catch {
		throw new ReleaseRefused('.ci/run fails on a clean clone.');
	} finally {
		rmSync(clone, { recursive: true });
	}
}

/** Says what became faster or slower since the last release. It only informs: a busy machine says nothing, and that is no reason to wait. */
function compareWithLast(folder: string, git: (...options: string[]) => string): void {
	const last = git('tag', '--list', 'v*', '--sort=-version:refname').split('\n')[0];
	if (!last) return;
	try {
		execFileSync('npm', ['run', 'bench', '--', '--against', last, '--write'], {
			cwd: folder,
			stdio: 'inherit',
		});
	} catch {
		console.error(`Not compared with ${last}: see above.`);
	}
}

if (import.meta.main) {
	const [version = ''] = process.argv.slice(2);
	try {
		release(join(import.meta.dirname, '..'), version, String(Temporal.Now.plainDateISO('UTC')));
		console.log(
			`Committed and tagged as v${version}. 'git push --follow-tags' publishes it, and 'npm publish' each package of dist/release.`,
		);
	} catch (error) {
		if (!(error instanceof ReleaseRefused)) throw error;
		console.error(error.message);
		process.exitCode = 1;
	}
}
