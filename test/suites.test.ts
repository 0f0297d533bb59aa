import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { TestProcess } from './process.ts';
import { takesLong } from './quick.ts';
import { testFiles } from './suites.ts';
import { temporaryFolder } from './support.ts';

test('npm run test:all runs every test file but the proofs once, through one of the files in test/suites', () => {
	const folder = join(import.meta.dirname, 'suites');
	const run = readdirSync(folder).flatMap((suite) => {
		const [, pattern] = /runTests\('(.+)'\)/.exec(readFileSync(join(folder, suite), 'utf8')) ?? [];
		assert.ok(pattern, `${suite} names no test files`);
		return testFiles(pattern);
	});
	assert.deepEqual(run.sort(), testFiles('!(proof)/**/*.test.ts').concat(testFiles('*.test.ts')).sort());
});

test('a test that fails makes npm test fail', { skip: takesLong }, async (t) => {
	const file = join(temporaryFolder(t), 'failing.test.js');
	writeFileSync(file, "require('node:test').test('fails', () => { throw new Error('on purpose'); });");
	const setup = join(import.meta.dirname, 'before-all.ts');
	await using run = new TestProcess(process.execPath, ['--test', `--test-global-setup=${setup}`, file], {
		TEST_DATABASE_URL: '',
	});
	assert.equal((await run.ended).code, 1);
});
