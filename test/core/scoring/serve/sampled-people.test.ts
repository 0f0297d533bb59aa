import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Profile, profileOf } from '../../../../src/core/domain/profile.ts';
import { hourMs, minuteMs } from '../../../../src/core/durations.ts';
import { sampledPeople } from '../../../../src/core/scoring/serve/sampled-people.ts';
import { hit, startMs } from '../../domain/log.ts';

async function* each(profiles: readonly Profile[]) {
	yield* profiles;
}

const of = (hits: Parameters<typeof hit>[]) => profileOf(hits.map((one) => hit(...one))) as Profile;
const scanners = Array.from({ length: 400 }, (_, place) => of([[startMs + place * 5, { channel: 'email' }]]));
const readers = Array.from({ length: 40 }, (_, place) =>
	of([
		[startMs + place * minuteMs, { channel: 'email' }],
		[startMs + (place + 1) * minuteMs, { channel: 'email' }],
	]),
);
const others = Array.from({ length: 60 }, (_, place) => of([[startMs + place * 10, { channel: 'direct' }]]));

test('scores are compared with people: a burst of mail gateways is left out of the sample, half an hour after it', async () => {
	const all = [...others, ...scanners, ...readers];
	const atMs = startMs + hourMs;
	const people = await Array.fromAsync(sampledPeople(each(all), atMs));
	assert.deepEqual(new Set(people), new Set([...others, ...readers]));
	const early = await Array.fromAsync(sampledPeople(each(all), startMs + 20 * minuteMs));
	assert.equal(early.length, all.length);
	const people2 = await Array.fromAsync(sampledPeople(each([...others, ...readers]), atMs));
	assert.equal(people2.length, 100);
});
