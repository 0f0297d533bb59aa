import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeptAnswers } from '../../../src/assembly/console/kept-answers.ts';

test('what was made is shown again for five seconds, or for twenty times as long as it took; what failed is made anew', async () => {
	const clock = { monotonicMs: 0 };
	const kept = new KeptAnswers(() => clock.monotonicMs);
	let made = 0;
	const make = async (tookMs: number) => {
		clock.monotonicMs += tookMs;
		return ++made;
	};
	const ask = (key: string, tookMs = 0) => kept.value(['account', key], () => make(tookMs));
	assert.deepEqual(await Promise.all([ask('quick'), ask('quick'), ask('other')]), [1, 1, 2]);
	clock.monotonicMs += 4999;
	assert.equal(await ask('quick'), 1);
	clock.monotonicMs += 1;
	assert.equal(await ask('quick'), 3);
	assert.equal(await ask('slow', 1000), 4);
	clock.monotonicMs += 19_999;
	assert.equal(await ask('slow'), 4);
	clock.monotonicMs += 1;
	assert.equal(await ask('slow'), 5);
	await assert.rejects(
		kept.value('bad', () => Promise.reject(new Error('once'))),
		/once/,
	);
	assert.equal(await kept.value('bad', async () => 'now'), 'now');
});
