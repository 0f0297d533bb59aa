import assert from 'node:assert/strict';
import { test } from 'node:test';
import { browserTestMs, withoutBrowser } from '../core/collect/browser.ts';
import { faultsOf, playBrowsers, sumOf } from './browsers.ts';

test('the service tells of people in a real browser what they did', {
	skip: withoutBrowser,
	timeout: browserTestMs,
}, async (t) => {
	const played = await playBrowsers(t, { people: 2, days: 12, seed: 1, withLimits: false });
	assert.deepEqual(
		played.map(({ kind, compared }) => [kind.name, faultsOf(compared)]),
		played.map(({ kind }) => [kind.name, []]),
	);
	const { sales, ...others } = sumOf(played);
	assert.deepEqual(others, { visitors: 1, pages: 1, events: 1 });
	assert.ok(sales >= 0.99);
});
