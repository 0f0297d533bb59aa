import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { commitOf } from '../src/core/version.ts';
import { temporaryFolder } from './support.ts';

const author = ['-c', 'user.name=x', '-c', 'user.email=x@example.com', '-c', 'commit.gpgsign=false'];

test('the commit is the one that git has checked out', (t) => {
	const folder = temporaryFolder(t);
	const git = (...args: string[]) =>
		execFileSync('git', [...author, ...args], { cwd: folder, encoding: 'utf8', stdio: 'pipe' }).trim();
	const assertAgrees = (what: string) =>
		assert.equal(commitOf(folder), git('rev-parse', 'HEAD').slice(0, 12), what);
	assert.equal(commitOf(folder), undefined, 'no repository');
	git('init', '--quiet', '--initial-branch', 'main');
	assert.equal(commitOf(folder), undefined, 'no commit yet');
	git('commit', '--quiet', '--allow-empty', '--message', 'one');
	assertAgrees('a branch');
	git('pack-refs', '--all');
	git('branch', 'feature/main');
	assertAgrees('a branch whose name is packed');
	git('commit', '--quiet', '--allow-empty', '--message', 'two');
	assertAgrees('a branch that has moved on since');
	git('checkout', '--quiet', '--detach', 'HEAD^');
	assertAgrees('no branch');

	const added = join(temporaryFolder(t), 'added');
	git('worktree', 'add', '--quiet', added, 'main');
	assert.equal(commitOf(added), git('rev-parse', 'main').slice(0, 12), 'an added work tree');
	git('pack-refs', '--all');
	assert.equal(commitOf(added), git('rev-parse', 'main').slice(0, 12), 'the same, packed');
});

test('a file COMMIT, as the image has it, names the commit', (t) => {
	const folder = temporaryFolder(t);
	const write = (text: string) => writeFileSync(join(folder, 'COMMIT'), text);
	write(`${'0123456789abcdef'.repeat(3).slice(0, 40)}\n`);
	assert.equal(commitOf(folder), '0123456789ab');
	write('unknown\n');
	assert.equal(commitOf(folder), undefined);
});
