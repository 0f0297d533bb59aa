import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LogThrottle } from '../src/core/log-throttle.ts';

test('a repeated line is logged ten times in ten seconds, then with the number of suppressed lines', () => {
	let nowMs = 0;
	const throttle = new LogThrottle(() => nowMs);
	const logged: object[] = [];
	for (let n = 0; n < 20_001; n++, nowMs++) throttle.log('disk full', (fields) => logged.push(fields));
	const times = Array.from({ length: 9 }, () => ({}));
	assert.deepEqual(logged, [{}, ...times, { suppressed: 9990 }, ...times, { suppressed: 9990 }]);
	throttle.log('disk lost', (fields) => logged.push(fields));
	assert.deepEqual(logged.at(-1), {}, 'another key has a window of its own');
});

test('at most a thousand keys are remembered', () => {
	const throttle = new LogThrottle(() => 0);
	let lines = 0;
	const log = (key: string) => throttle.log(key, () => lines++);
	for (let n = 0; n < 20; n++) log('the first key');
	assert.equal(lines, 10);
	for (let n = 1; n < 1000; n++) log(`key ${n}`);
	log('the first key');
	assert.equal(lines, 1009);
	log('key 1000');
	log('the first key');
	assert.equal(lines, 1011);
});
