import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { ReleaseRefused, release, releasedChangelog } from '../.ci/release.ts';

const head = '# Changelog\n\nFor operators.\n\n';
const change = '- Uploads are faster.\n';
const day = '2026-12-24';

/** A project whose checks pass or fail. */
function project(t: TestContext, { changes = change, ci = 'true' } = {}) {
	const folder = mkdtempSync(join(tmpdir(), 'release-'));
	t.after(() => rmSync(folder, { recursive: true }));
	const git = (...options: string[]) =>
		execFileSync('git', options, { cwd: folder, encoding: 'utf8' }).trim();
	mkdirSync(join(folder, '.ci'));
	mkdirSync(join(folder, 'deploy'));
	const files = {
		'CHANGELOG.md': `${head}## Unreleased\n\nTo become 1.0.0, the first version.\n\n${changes}`,
		'package.json': '{\n\t"name": "caskade",\n\t"version": "0.1.0"\n}\n',
		'deploy/image.yaml': 'image: caskade:0.1.0\n',
		'.ci/run': `test -f package.json && ${ci}\n`,
	};
	for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
	git('init', '--quiet', '--initial-branch=main');
	git('config', 'user.name', 'Test');
	git('config', 'user.email', 'test@example.com');
	git('add', '--all');
	git('commit', '--quiet', '--message', 'feat: first');
	return { folder, git, read: (name: string) => readFileSync(join(folder, name), 'utf8') };
}

test('a release is a commit and a tag, in which the version stands wherever it did', (t) => {
	const { folder, git, read } = project(t);
	release(folder, '1.0.0', day);
	assert.equal(read('CHANGELOG.md'), `${head}## Unreleased\n\n## 1.0.0 – ${day}\n\n${change}`);
	assert.equal(JSON.parse(read('package.json')).version, '1.0.0');
	assert.equal(read('deploy/image.yaml'), 'image: caskade:1.0.0\n');
	assert.equal(git('log', '-1', '--format=%s'), 'chore: release 1.0.0');
	assert.equal(git('rev-parse', 'v1.0.0^{commit}'), git('rev-parse', 'HEAD'));
	assert.equal(git('status', '--porcelain'), '');
});

test('nothing is released that is unchanged, uncommitted, elsewhere than on main, or fails its checks', (t) => {
	const refused = ({ folder, git }: ReturnType<typeof project>, why: RegExp) => {
		const before = git('rev-parse', 'HEAD');
		assert.throws(
			() => release(folder, '1.0.0', day),
			(error: Error) => error instanceof ReleaseRefused && why.test(error.message),
		);
		assert.equal(git('rev-parse', 'HEAD'), before);
		assert.equal(git('tag'), '');
	};
	refused(project(t, { changes: '' }), /"Unreleased" in CHANGELOG.md is empty/);
	refused(project(t, { ci: 'false' }), /\.ci\/run fails on a clean clone/);
	const edited = project(t);
	writeFileSync(join(edited.folder, 'package.json'), '{}');
	refused(edited, /Something is not committed/);
	const branched = project(t);
	branched.git('switch', '--quiet', '--create', 'other');
	refused(branched, /of main, not of other/);
});

test('a version must be later than those before', () => {
	const released = releasedChangelog(`${head}## Unreleased\n\n${change}`, '1.9.0', day);
	const next = released.replace('## Unreleased\n', `## Unreleased\n\n${change}`);
	assert.equal(
		releasedChangelog(next, '1.10.0', day),
		`${head}## Unreleased\n\n## 1.10.0 – ${day}\n\n${change}\n## 1.9.0 – ${day}\n\n${change}`,
	);
	for (const version of ['1.9.0', '1.8.9', '0.99.0'])
		assert.throws(() => releasedChangelog(next, version, day), /not later than 1\.9\.0/);
	assert.throws(() => releasedChangelog(next, '2.0', day), /no version such as 1\.0\.0/);
});
