import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { agentInWords, deviceOf, isBot } from '../../../src/core/collect/device.ts';
import { codePoint } from '../../code-point.ts';

const webkit = 'AppleWebKit/537.36 (KHTML, like Gecko)';
const windows = `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${webkit} Chrome/142.0.0.0 Safari/537.36`;
const mac =
	'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.0 Safari/605.1.15';
const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0';
const iphone =
	'Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.0 Mobile/15E148 Safari/604.1';
const android = `Mozilla/5.0 (Linux; Android 10; K) ${webkit} Chrome/142.0.0.0 Mobile Safari/537.36`;
const androidTablet = `Mozilla/5.0 (Linux; Android 10; K) ${webkit} Chrome/142.0.0.0 Safari/537.36`;
const ipad =
	'Mozilla/5.0 (iPad; CPU OS 17_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.0 Mobile/15E148 Safari/604.1';
const tizen = `Mozilla/5.0 (SMART-TV; Linux; Tizen 6.0) ${webkit} 85.0.4183.93/6.0 TV Safari/537.36`;

describe('deviceOf', () => {
	const cases: [string, string][] = [
		[windows, 'desktop'],
		[mac, 'desktop'],
		[firefox, 'desktop'],
		[iphone, 'mobile'],
		[android, 'mobile'],
		[androidTablet, 'tablet'],
		[ipad, 'tablet'],
		[tizen, 'tv'],
		['curl/8.0', 'other'],
		['', 'other'],
	];
	for (const [userAgent, device] of cases)
		test(`${device}: ${userAgent.slice(0, 50)}`, () => assert.equal(deviceOf(userAgent), device));

	test('uses the client hint of a browser with a reduced user agent', () => {
		assert.equal(deviceOf('Mozilla/5.0', { mobile: '?1' }), 'mobile');
		assert.equal(deviceOf(windows, { mobile: '?0' }), 'desktop');
		assert.equal(deviceOf(ipad, { mobile: '?1' }), 'tablet');
		assert.equal(deviceOf(undefined), 'other');
	});
});

describe('isBot', () => {
	const bots = [
		'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
		'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)',
		'curl/8.0',
		'python-requests/2.32',
		windows.replace('Chrome', 'HeadlessChrome'),
		'',
	];
	for (const bot of bots)
		test(`is true: ${bot.slice(0, 60)}`, () => {
			assert.equal(isBot(bot), true);
		});
	for (const person of [windows, mac, firefox, iphone, android, ipad, tizen])
		test(`is false: ${person.slice(0, 60)}`, () => {
			assert.equal(isBot(person), false);
		});
	test('is true without a user agent', () => assert.equal(isBot(undefined), true));
});

test('people read which browser on which system it was', () => {
	assert.equal(agentInWords(windows), 'Chrome on Windows');
	assert.equal(agentInWords('curl/8'), 'an unknown browser on an unknown system');
	assert.equal(agentInWords(''), 'an unknown browser');
	assert.equal(agentInWords(undefined), 'an unknown browser');
});

test('gives the same result twice for any input, with bounded memory', () => {
	fc.assert(
		fc.property(fc.string({ unit: codePoint, maxLength: 2000 }), (userAgent) => {
			assert.match(deviceOf(userAgent), /^(desktop|mobile|tablet|tv|other)$/);
			assert.equal(deviceOf(userAgent), deviceOf(userAgent));
			assert.equal(isBot(userAgent), isBot(userAgent));
		}),
	);
	// More than are remembered.
	for (let number = 0; number < 5000; number++) assert.equal(deviceOf(`${windows} ${number}`), 'desktop');
	assert.equal(deviceOf(iphone), 'mobile');
});
