import assert from 'node:assert/strict';
import { test } from 'node:test';
import { modelFormat } from '../../../../src/core/scoring/model/model.ts';
import { ModelCache } from '../../../../src/core/scoring/serve/model-cache.ts';
import type { ModelName } from '../../../../src/core/store/control/control-store.ts';
import { madeUpFeatures } from '../../../capabilities/training/made-up-profiles.ts';

const body = JSON.stringify({ format: modelFormat, kind: 'prior', features: madeUpFeatures, baseRate: 0.1 });

function named(version: string): ModelName {
	return { goal: 'subscription', scope: 'vid', version };
}

function cacheOf(bodies: Record<string, string>, maxModels = 10) {
	const read: string[] = [];
	const errors: string[] = [];
	const clock = { nowMs: 1 };
	const cache = new ModelCache({
		read: async (accountId, { version }) => {
			read.push(`${accountId} ${version}`);
			const text = bodies[version];
			if (text === undefined) throw new Error('the control database is away');
			return text;
		},
		onError: (error) => errors.push((error as Error).message),
		monotonicMs: () => clock.nowMs,
		maxCharacters: maxModels * body.length,
	});
	return { cache, read, errors, clock, bodies };
}

test('a model is read once, even by concurrent requests, and is then available synchronously', async () => {
	const { cache, read } = cacheOf({ 1: body });
	const asked = await Promise.all([cache.get(1, named('1')), cache.get(1, named('1'))]);
	assert.equal(asked[0]?.version, '1');
	assert.equal(asked[1], asked[0]);
	assert.equal(cache.get(1, named('1')), asked[0]);
	await cache.get(2, named('1'));
	assert.deepEqual(read, ['1 1', '2 1']);
});

test('the least recently used and the deactivated models are evicted', async () => {
	const { cache, read } = cacheOf({ 1: body, 2: body, 3: body }, 2);
	for (const version of ['1', '2', '3']) await cache.get(1, named(version));
	assert.ok(cache.get(1, named('1')) instanceof Promise);
	assert.ok(!(cache.get(1, named('3')) instanceof Promise));
	cache.forget(1, named('3'));
	assert.ok(cache.get(1, named('3')) instanceof Promise);
	assert.equal(read.length, 5);
});

test('a model that cannot be read is missing for 5 s, with one error', async () => {
	const { cache, read, errors, clock, bodies } = cacheOf({});
	assert.equal(await cache.get(1, named('1')), undefined);
	clock.nowMs = 5000;
	assert.equal(cache.get(1, named('1')), undefined);
	assert.equal(read.length, 1);
	assert.deepEqual(errors, ['the control database is away']);
	bodies[1] = body;
	clock.nowMs = 5002;
	assert.equal((await cache.get(1, named('1')))?.version, '1');
});

test('a model that cannot be applied is reported by name and missing', async () => {
	const { cache, errors, read } = cacheOf({ 1: body.replace('"format":4', '"format":3') });
	assert.equal(await cache.get(7, named('1')), undefined);
	assert.equal(cache.get(7, named('1')), undefined);
	assert.equal(read.length, 1);
	assert.deepEqual(errors, [
		'account 7, goal subscription, vid: model 1 cannot be applied: its format is 3, not 4; the base rate is served',
	]);
});

test('who waits for a model that is deactivated meanwhile gets it nevertheless', async () => {
	const { cache, read } = cacheOf({ 1: body });
	const asked = cache.get(1, named('1'));
	cache.forget(1, named('1'));
	assert.equal((await asked)?.version, '1');
	assert.equal((await cache.get(1, named('1')))?.version, '1');
	assert.equal(read.length, 2);
});
