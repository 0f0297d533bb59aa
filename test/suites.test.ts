import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { testFiles } from './suites.ts';

test('npm test runs every test file once, through one of the files in test/suites', () => {
	const folder = join(import.meta.dirname, 'suites');
	const run = readdirSync(folder).flatMap((suite) => {
		const [, pattern] = /runTests\('(.+)'\)/.exec(readFileSync(join(folder, suite), 'utf8')) ?? [];
		assert.ok(pattern, `${suite} names no test files`);
		return testFiles(pattern);
	});
	assert.deepEqual(run.sort(), testFiles('**/*.test.ts'));
});
