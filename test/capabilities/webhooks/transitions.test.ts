import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { bandMargin, heldBand } from '../../../src/capabilities/webhooks/domain/standing.ts';
import { nowhere, transitionsOf } from '../../../src/capabilities/webhooks/transitions.ts';
import type { Band } from '../../../src/core/domain/goal.ts';
import { reachedOf } from '../../../src/core/domain/goal.ts';
import { profileOf } from '../../../src/core/domain/profile.ts';
import { hit } from '../../core/domain/log.ts';

const bands = { mediumFrom: 50, highFrom: 90 };

test('a band is left downwards only by more than the margin', () => {
	const path: Band[] = [];
	for (const percentile of [50, 47, 46, 49, 50, 90, 87, 86, 89, 90, 10, 95])
		path.push(heldBand(bands, percentile, path.at(-1)));
	assert.deepEqual(path, [
		...[
			'medium',
			'medium',
			'low',
			'low',
			'medium',
			'high',
			'high',
			'medium',
			'medium',
			'high',
			'low',
			'high',
		],
	]);
});

test('a percentile that moves by less than the margin changes a band at most once', () => {
	fc.assert(
		fc.property(
			fc.integer({ min: 0, max: 100 }),
			fc.array(fc.integer({ min: 0, max: bandMargin }), { minLength: 1, maxLength: 30 }),
			(from, steps) => {
				let band: Band | undefined;
				let changes = 0;
				for (const step of steps) {
					const next = heldBand(bands, Math.min(100, from + step), band);
					if (band !== undefined && next !== band) changes++;
					band = next;
				}
				assert.ok(changes <= 1);
			},
		),
	);
});

test('transitions lead from one standing to the other, and none from a standing to itself', () => {
	const standing = fc.record({
		segments: fc.uniqueArray(fc.constantFrom('a', 'b', 'c')).map((ids) => new Set(ids)),
		bands: fc
			.dictionary(fc.constantFrom('x', 'constructor'), fc.constantFrom<Band>('low', 'medium', 'high'))
			.map((bands) => new Map(Object.entries(bands))),
		goals: fc
			.dictionary(
				fc.constantFrom('x', 'y'),
				fc.record({ count: fc.integer({ min: 1, max: 9 }), lastAtMs: fc.integer({ min: 0, max: 9 }) }),
			)
			.map((goals) => new Map(Object.entries(goals))),
	});
	fc.assert(
		fc.property(standing, standing, (before, after) => {
			assert.deepEqual(transitionsOf(after, after), []);
			const segments = new Set<string>(before.segments);
			for (const transition of transitionsOf(before, after)) {
				if (transition.type === 'segment.entered') segments.add(transition.segment);
				if (transition.type === 'segment.left') segments.delete(transition.segment);
			}
			assert.deepEqual([...segments].sort(), [...after.segments].sort());
		}),
	);
	const times = transitionsOf(nowhere, { ...nowhere, goals: new Map([['x', { count: 3, lastAtMs: 5 }]]) });
	assert.deepEqual(
		times.map((one) => 'number' in one && one.number),
		[1, 2, 3],
	);
});

test('a goal counts its events, and an upload only once', () => {
	const profile = profileOf([
		hit(8, { events: ['basket', 'basket'] }),
		{ type: 'subscription', atMs: 9, tid: 't', subid: 's', evt: 'newsletter', revenuePence: 1 },
	]);
	assert.ok(profile);
	assert.equal(reachedOf(profile, { evts: ['basket'], counts: 'acquisition' }, null)?.count, 2);
	assert.equal(reachedOf(profile, { evts: ['*', 'newsletter'], counts: 'any' }, null)?.count, 1);
	assert.equal(reachedOf(profile, { evts: ['visit'], counts: 'any' }, null), undefined);
});
