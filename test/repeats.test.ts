import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Repeats } from '../src/repeats.ts';

test('what happens again and again is said ten times in ten seconds, and then how often it was not', () => {
	let nowMs = 0;
	const repeats = new Repeats(() => nowMs);
	const said: object[] = [];
	for (let n = 0; n < 20_001; n++, nowMs++) repeats.say('disk full', (fields) => said.push(fields));
	const times = Array.from({ length: 9 }, () => ({}));
	assert.deepEqual(said, [{}, ...times, { unsaid: 9990 }, ...times, { unsaid: 9990 }]);
	repeats.say('disk lost', (fields) => said.push(fields));
	assert.deepEqual(said.at(-1), {}, 'something else is said at once');
});

test('of ever new things it remembers a thousand', () => {
	const repeats = new Repeats(() => 0);
	let said = 0;
	const say = (name: string) => repeats.say(name, () => said++);
	for (let n = 0; n < 20; n++) say('the first thing');
	assert.equal(said, 10);
	for (let n = 1; n < 1000; n++) say(`thing ${n}`);
	say('the first thing');
	assert.equal(said, 1009);
	say('thing 1000');
	say('the first thing');
	assert.equal(said, 1011);
});
