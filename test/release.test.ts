import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { ReleaseRefused, release, releasedChangelog } from '../.ci/release.ts';
import { TestProcess } from './process.ts';
import { takesLong } from './quick.ts';
import { temporaryFolder } from './support.ts';

const root = join(import.meta.dirname, '..');
const head = '# Changelog\n\nFor operators.\n\n';
const change = '- Uploads are faster.\n';
const day = '2026-12-24';

/** A project whose checks pass or fail. */
function project(
	t: TestContext,
	{ changes = change, ci = 'true', files = 'grep -h version package.json > files' } = {},
) {
	const folder = mkdtempSync(join(tmpdir(), 'release-'));
	t.after(() => rmSync(folder, { recursive: true }));
	const git = (...options: string[]) =>
		execFileSync('git', options, { cwd: folder, encoding: 'utf8' }).trim();
	mkdirSync(join(folder, '.ci'));
	mkdirSync(join(folder, 'deploy'));
	const contents = {
		'CHANGELOG.md': `${head}## Unreleased\n\nTo become 1.0.0, the first version.\n\n${changes}`,
		'package.json': JSON.stringify({
			name: 'caskade',
			version: '0.1.0',
			scripts: { 'release:files': files },
		}),
		'deploy/image.yaml': 'image: caskade:0.1.0\n',
		'.gitignore': 'files\n',
		'.ci/run': `test -f package.json && ${ci}\n`,
	};
	for (const [name, text] of Object.entries(contents)) writeFileSync(join(folder, name), text);
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
	assert.match(read('files'), /1\.0\.0/, 'made of the new version');
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
	refused(project(t, { files: 'false' }), /The files of the release cannot be made/);
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

test("a release's files name every part with its license, and can be checked", {
	skip: takesLong,
}, async (t) => {
	const folder = temporaryFolder(t);
	const key = join(folder, 'key');
	execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key]);
	const made = join(folder, 'release');
	const ended = await new TestProcess(process.execPath, [join(root, '.ci/release-files.ts'), made], {
		NODE_OPTIONS: '',
		GIT_CONFIG_COUNT: '2',
		GIT_CONFIG_KEY_0: 'gpg.format',
		GIT_CONFIG_VALUE_0: 'ssh',
		GIT_CONFIG_KEY_1: 'user.signingKey',
		GIT_CONFIG_VALUE_1: key,
	}).ended;
	assert.equal(ended.code, 0, ended.stderr);
	const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
	const read = (name: string) => readFileSync(join(made, name), 'utf8');
	const releases = ['caskade', 'caskade-client', 'caskade-tag'].map((name) => `${name}-${version}`);
	const published = releases.flatMap((release) =>
		['.cdx.json', '.licenses.txt', '.tgz'].map((end) => release + end),
	);
	assert.deepEqual(
		readdirSync(made),
		[...published, 'SHA256SUMS', 'SHA256SUMS.sig', 'provenance.json', 'provenance.json.sig'].sort(),
	);

	const checked = execFileSync('sha256sum', ['--check', 'SHA256SUMS'], { cwd: made, encoding: 'utf8' });
	assert.equal(
		checked,
		[...published]
			.sort()
			.map((name) => `${name}: OK\n`)
			.join(''),
	);
	const signers = join(folder, 'signers');
	writeFileSync(signers, `release@example.com ${readFileSync(`${key}.pub`, 'utf8')}`);
	for (const name of ['SHA256SUMS', 'provenance.json']) {
		const verify = ['-Y', 'verify', '-f', signers, '-I', 'release@example.com', '-n', 'file'];
		const options = [...verify, '-s', join(made, `${name}.sig`)];
		assert.match(
			execFileSync('ssh-keygen', options, { input: read(name), encoding: 'utf8' }),
			/^Good "file" signature/,
		);
	}
	const { subject, predicate } = JSON.parse(read('provenance.json'));
	assert.deepEqual(
		subject.map(({ name }: { name: string }) => name),
		[...published].sort(),
	);
	const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim();
	assert.equal(predicate.buildDefinition.externalParameters.commit, commit);

	const [service = ''] = releases;
	const shrinkwrap = ['-xzOf', join(made, `${service}.tgz`), 'package/npm-shrinkwrap.json'];
	const { packages } = JSON.parse(execFileSync('tar', shrinkwrap, { encoding: 'utf8' }));
	const parts = Object.entries<{ version: string }>(packages)
		.filter(([path]) => path !== '')
		.map(([path, { version }]) => `${path.replace(/.*node_modules\//, '')}@${version}`)
		.sort();
	const { components } = JSON.parse(read(`${service}.cdx.json`));
	type Component = { readonly purl: string };
	const listed = components.map(({ purl }: Component) => decodeURIComponent(purl.replace('pkg:npm/', '')));
	assert.deepEqual(listed.sort(), parts);
	const licensed = [...read(`${service}.licenses.txt`).matchAll(/(?:^|-{72}\n\n)(\S+) (\S+): (.+)/g)];
	assert.deepEqual(
		licensed.map(([, name, version]) => `${name}@${version}`).sort(),
		[...parts, `caskade@${version}`].sort(),
	);
	// Whoever ships something under another must look at it first.
	const permissive = ['Apache-2.0', 'BSD-3-Clause', 'BlueOak-1.0.0', 'ISC', 'MIT', 'Unlicense'];
	const licenses = new Set(licensed.map(([, , , license = '']) => license));
	assert.deepEqual([...licenses].sort(), permissive);
});
