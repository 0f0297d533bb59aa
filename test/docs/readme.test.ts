import assert from 'node:assert/strict';
import { test } from 'node:test';
import { proveReadme } from '../proof/readme.ts';
import { takesLong } from '../quick.ts';

test('the first steps print what the page shows', { skip: takesLong }, async () => {
	assert.ok((await proveReadme(150)) > 10);
});
