import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFromConsole, SessionCookie } from '../../../../src/capabilities/people/access/console-requests.ts';
import { formToken, isFormToken } from '../../../../src/capabilities/people/access/tokens.ts';
import { isByLoopback, isLocal } from '../../../../src/kit/console/by-loopback.ts';

const url = 'https://console.example.com';

test('a write comes from a page of the console, or it is refused', () => {
	const cases: readonly (readonly [boolean, Record<string, string>])[] = [
		[true, { 'sec-fetch-site': 'same-origin' }],
		[false, { 'sec-fetch-site': 'same-site' }],
		[false, { 'sec-fetch-site': 'cross-site' }],
		[false, { 'sec-fetch-site': 'none' }],
		[false, { 'sec-fetch-site': 'same-site', origin: url }],
		[true, { origin: url }],
		[false, { origin: 'https://shop.example.com' }],
		[false, { origin: 'http://console.example.com' }],
		[false, { origin: 'null' }],
		[false, { origin: 'https://shop.example.com', host: 'shop.example.com' }],
		[false, { host: 'console.example.com' }],
		[false, {}],
	];
	for (const [expected, headers] of cases)
		assert.equal(isFromConsole(headers, url), expected, JSON.stringify(headers));
});

test('over https the cookie is a __Host- cookie, on this machine its name has the port', () => {
	const secure = new SessionCookie(true, '');
	assert.equal(
		secure.set('abc'),
		'__Host-caskade=abc; Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=2592000',
	);
	assert.equal(secure.read({ cookie: 'a=1; __Host-caskade=abc; b=2' }), 'abc');
	const local = new SessionCookie(false, '8081');
	assert.equal(local.set('abc'), 'caskade-8081=abc; Path=/; HttpOnly; SameSite=Lax; Max-Age=2592000');
	assert.equal(local.read({ cookie: '__Host-caskade=abc' }), undefined);
	assert.match(local.clear(), /^caskade-8081=; .*Max-Age=0$/);
	for (const cookie of ['', 'caskade-8081=', 'caskade-8081=a; caskade-8081=b', 'xcaskade-8081=a'])
		assert.equal(local.read({ cookie }), undefined, cookie);
	assert.equal(local.read({}), undefined);
});

test("a form's token is that of its session", () => {
	const token = formToken('one');
	assert.equal(isFormToken(token, 'one'), true);
	for (const presented of [undefined, '', formToken('two'), `${token}x`])
		assert.equal(isFormToken(presented, 'one'), false);
});

test('plain http that has not left the machine of the browser is known by the name that the browser gives', () => {
	const cases: readonly (readonly [boolean, string, Record<string, string>])[] = [
		// A port that Docker publishes on 127.0.0.1, itself or at the end of a tunnel.
		[true, '172.17.0.1', { host: '127.0.0.1:8081' }],
		[true, '::ffff:172.17.0.1', { host: 'localhost:9000' }],
		[true, 'fd00::1', { host: '[::1]:8081' }],
		[false, '172.17.0.1', { host: '192.0.2.2:8081' }],
		[false, '172.17.0.1', { host: 'localhost.example.com' }],
		[false, '172.17.0.1', { host: '' }],
		[false, '172.17.0.1', {}],
		// From a network that is not the operator's own.
		[false, '8.8.8.8', { host: '127.0.0.1:8081' }],
		[false, '', { host: '127.0.0.1:8081' }],
		// nginx names the server by its own address for it, unless it is told otherwise.
		[false, '172.17.0.1', { host: '127.0.0.1:8081', 'x-forwarded-for': '198.51.100.7' }],
		[false, '172.17.0.1', { host: '127.0.0.1:8081', via: '1.1 proxy' }],
	];
	for (const [expected, peer, headers] of cases)
		assert.equal(isByLoopback(peer, headers), expected, `${peer} ${JSON.stringify(headers)}`);
});

test('a client on this machine is known by its address', () => {
	for (const address of ['127.0.0.1', '127.8.0.1', '::1', '::ffff:127.0.0.1']) assert.ok(isLocal(address));
	for (const address of ['10.0.0.1', '::', '', 'localhost', '192.0.2.1'])
		assert.equal(isLocal(address), false);
});
