import assert from 'node:assert/strict';
import { test } from 'node:test';
import { proveReadme } from '../proof/readme.ts';

test("README's first five minutes print what it shows", async () => {
	assert.ok((await proveReadme(150)) > 10);
});
