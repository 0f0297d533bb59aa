import assert from 'node:assert/strict';
import { test } from 'node:test';
import { claimsOf } from './simulated-answers.ts';

test('sentences on top of reports claim what is so, and claim something', () => {
	const claims = Array.from({ length: 40 }, (_, seed) => claimsOf(seed + 1)).flat();
	assert.deepEqual(
		claims.filter(({ isTrue }) => isTrue === false),
		[],
	);
	for (const report of ['attribution', 'retention', 'renewals', 'activity', 'lift'])
		assert.ok(
			claims.some((claim) => claim.report === report && claim.isTrue),
			report,
		);
});
