import assert from 'node:assert/strict';
import { test } from 'node:test';
import { repeatedMembers } from '../../../src/capabilities/history/repeated-members.ts';

const repeatedIn = repeatedMembers(['tid', 'rvn']);

test('a member that is there twice is named; members of members and texts are others', () => {
	for (const json of [
		'{"tid":"a","events":[{"tid":"b"},{"tid":"c"}],"note":"\\"tid\\":"}',
		'{"note":"tid","also":"\\\\","tid":"rvn","rvn":1,"x":1,"x":2,"o":{"rvn":{"tid":[]}}}',
		'["tid",":","tid"]',
		'"tid"',
	])
		assert.deepEqual(repeatedIn(json), [], json);
	assert.deepEqual(repeatedIn('{"tid":"a","rvn":499,"o":{},"rvn" : 4}'), ['it has several members rvn']);
	assert.deepEqual(repeatedIn('{"tid":"a","tid":"a"}'), ['it has several members tid']);
});

test('no line takes long to look at', { timeout: 5000 }, () => {
	const size = 1_000_000;
	for (const json of [
		`{"tid":"${'\\\\'.repeat(size / 2)}","tid":1}`,
		`{"tid":"tid","a":${'['.repeat(size)}`,
		`{"a":"${'\\"tid\\"'.repeat(size / 7)}","tid":"tid"}`,
	])
		repeatedIn(json);
});
