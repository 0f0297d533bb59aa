import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultSegments } from '../../../src/core/domain/segment.ts';
import { dayMs } from '../../../src/core/durations.ts';
import { matchingSegments, readScores } from '../../../src/core/segments/matching.ts';
import { hit, startMs, subscription } from '../domain/log.ts';
import { factsOf } from './facts.ts';

/** Of this process, so that what else runs on the machine does not count. */
function cpuMsSince(before: NodeJS.CpuUsage): number {
	const { user, system } = process.cpuUsage(before);
	return (user + system) / 1000;
}

const returning = [hit(startMs), hit(startMs + dayMs, { sid: 'b'.repeat(32) })];

test('a visitor is in the segments whose rules match, in their order', () => {
	const ids = (log: Parameters<typeof factsOf>[0]) =>
		matchingSegments(defaultSegments, factsOf(log, startMs + dayMs)).map(({ id }) => id);
	assert.deepEqual(ids([hit(startMs)]), ['new', 'high-intent']);
	assert.deepEqual(ids(returning), ['returning', 'high-intent']);
	assert.deepEqual(ids([...returning, subscription(startMs + dayMs)]), ['returning', 'subscriber']);
});

test('a stored rule that is no longer valid matches nobody and does not affect the others', () => {
	const segments = [
		{ id: 'broken', name: 'Broken', rule: 'visitor.nothing == 1' },
		{ id: 'everyone', name: 'Everyone', rule: 'true' },
	];
	assert.deepEqual(matchingSegments(segments, factsOf(returning, startMs)), [segments[1]]);
});

test('scores are needed if any rule reads one', () => {
	assert.equal(readScores(defaultSegments), true);
	assert.equal(readScores(defaultSegments.filter(({ id }) => id !== 'high-intent')), false);
	assert.equal(readScores([{ id: 'broken', name: 'Broken', rule: 'scores. == 1' }]), false);
	assert.equal(readScores([]), false);
});

test('ten rules take some microseconds', () => {
	const segments = [...defaultSegments, ...defaultSegments];
	const facts = factsOf(returning, startMs + dayMs);
	const rounds = 2000;
	for (let round = 0; round < rounds; round++) matchingSegments(segments, facts);
	const before = process.cpuUsage();
	for (let round = 0; round < rounds; round++) matchingSegments(segments, facts);
	// About 4.
	assert((cpuMsSince(before) * 1000) / rounds < 200);
});
