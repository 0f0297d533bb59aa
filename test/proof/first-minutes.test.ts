import assert from 'node:assert/strict';
import { test } from 'node:test';
import { browserTestMs, withoutBrowser } from '../core/collect/browser.ts';
import { firstMinutes } from './first-minutes.ts';

test('from the packed file, five steps lead to an event that is stored and a picture in the console', {
	skip: withoutBrowser,
	timeout: browserTestMs,
}, async (t) => {
	const { installed, stored, seen } = await firstMinutes();
	t.diagnostic(
		`installed ${installed.toFixed(1)} s, 201 after ${stored.toFixed(1)} s, seen after ${seen.toFixed(1)} s`,
	);
	assert.ok(installed < stored && stored < seen);
});
