import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asset, scriptPaths, stylePath } from '../../../src/kit/console/assets.ts';

test('the style of all pages is at most 14 kB, and the scripts 10 kB', () => {
	const size = (path: string) => Buffer.byteLength(asset(path)?.body ?? '');
	assert.ok(size(stylePath) > 0 && size(stylePath) <= 14_000, `${size(stylePath)}`);
	const scripts = scriptPaths.map(size).reduce((sum, one) => sum + one, 0);
	assert.ok(scripts > 0 && scripts <= 10_000, `${scripts}`);
});
