import assert from 'node:assert/strict';
import { test } from 'node:test';
import { browserTestMs, withoutBrowser } from '../collect/browser.ts';
import { faultsOf, playBrowsers } from './browsers.ts';

test('the service tells of people in a real browser what they did', {
	skip: withoutBrowser,
	timeout: browserTestMs,
}, async (t) => {
	const only = /^(readers|families)/;
	const played = await playBrowsers(t, { people: 2, days: 12, seed: 1, only });
	assert.deepEqual(
		played.map(({ kind, compared }) => [kind.name, faultsOf(compared)]),
		played.map(({ kind }) => [kind.name, []]),
	);
	assert.equal(played.length, 3);
});
