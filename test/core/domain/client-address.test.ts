import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { test } from 'node:test';
import fc from 'fast-check';
import { clientOf, isProxyOf } from '../../../src/core/domain/client-address.ts';
import type { Proxies } from '../../../src/core/domain/proxies.ts';

/** The address that counts for a request from `peer` with this `x-forwarded-for`. */
function clientBehind(proxies: Proxies, peer: string, forwardedFor?: string) {
	const request = { headers: { 'x-forwarded-for': forwardedFor }, socket: { remoteAddress: peer } };
	return clientOf(request as unknown as IncomingMessage, proxies === 0 ? undefined : isProxyOf(proxies));
}

const networks = ['10.0.0.0/8', 'fd00::/8'];

test('the client is the rightmost entry that is not a trusted proxy', () => {
	for (const [proxies, peer, forwardedFor, client] of [
		[0, '203.0.113.7', '198.51.100.1', '203.0.113.7'],
		[1, '10.0.0.1', '198.51.100.1', '198.51.100.1'],
		[1, '10.0.0.1', '192.0.2.66, 198.51.100.1', '198.51.100.1'],
		[2, '10.0.0.1', '192.0.2.66, 198.51.100.1, 10.0.0.2', '198.51.100.1'],
		[2, '10.0.0.1', '198.51.100.1', '198.51.100.1'],
		[networks, '10.0.0.1', '192.0.2.66, 198.51.100.1', '198.51.100.1'],
		[networks, '10.0.0.1', '192.0.2.66,198.51.100.1 ,\t10.0.0.2', '198.51.100.1'],
		[networks, 'fd00::1', '192.0.2.66, 2001:db8::1, fd00::2, 10.0.0.2', '2001:db8::1'],
		// Somebody who has gone around the proxies.
		[networks, '203.0.113.7', '198.51.100.1', '203.0.113.7'],
		// A page of our own network.
		[networks, '10.0.0.1', '10.0.0.5', '10.0.0.5'],
		[networks, '::ffff:10.0.0.1', '198.51.100.1, ::ffff:10.0.0.2', '198.51.100.1'],
		[['::ffff:10.0.0.1'], '10.0.0.1', '198.51.100.1', '198.51.100.1'],
	] as const)
		assert.equal(
			clientBehind(proxies, peer, forwardedFor).address,
			client,
			`${proxies} ${peer} ${forwardedFor}`,
		);
});

test('an entry may have a port or a zone', () => {
	for (const [entry, client] of [
		['198.51.100.1:4711', '198.51.100.1'],
		['[2001:db8::1]:4711', '2001:db8::1'],
		['[2001:db8::1]', '2001:db8::1'],
		['fe80::1%eth0', 'fe80::1%eth0'],
	] as const)
		for (const proxies of [1, networks])
			assert.equal(clientBehind(proxies, '10.0.0.1', entry).address, client, entry);
	assert.equal(
		clientBehind(networks, '10.0.0.1', '198.51.100.1, 10.0.0.2:4711').address,
		'198.51.100.1',
		'a proxy with a port is one all the same',
	);
});

test('if an entry is not an address, the proxy that wrote it counts', () => {
	for (const entry of [
		'unknown',
		'_hidden',
		'1',
		'0x7f.1',
		'10.0.0.01',
		'[::1',
		'"198.51.100.1"',
		'x'.repeat(9000),
	])
		for (const proxies of [1, networks]) {
			const client = clientBehind(proxies, '10.0.0.1', entry);
			assert.deepEqual(client, { address: '10.0.0.1', problem: 'unnamed' }, entry);
		}
	assert.equal(clientBehind(2, '10.0.0.1', 'unknown, 10.0.0.2').address, '10.0.0.2');
});

test('at most ten proxies are considered', () => {
	const ours = Array.from({ length: 1000 }, (_, index) => `fd00::${index.toString(16)}`);
	assert.equal(clientBehind(networks, '10.0.0.1', ours.join()).address, ours.at(-10));
});

test('reports a missing client address and an untrusted one', () => {
	for (const [proxies, peer, forwardedFor, problem] of [
		[0, '203.0.113.7', undefined, undefined],
		[0, '127.0.0.1', '198.51.100.1', 'unbelieved'],
		[1, '10.0.0.1', undefined, 'unnamed'],
		[1, '10.0.0.1', '', 'unnamed'],
		[1, '10.0.0.1', ' , ', 'unnamed'],
		[1, '10.0.0.1', '198.51.100.1', undefined],
		[networks, '10.0.0.1', undefined, 'unnamed'],
		[networks, '203.0.113.7', undefined, undefined],
		[networks, '203.0.113.7', '198.51.100.1', 'unbelieved'],
	] as const)
		assert.equal(clientBehind(proxies, peer, forwardedFor).problem, problem, `${peer} ${forwardedFor}`);
});

test('whatever a client sends, the entries of trusted proxies decide', () => {
	const written = fc.oneof(
		fc.string(),
		fc.array(fc.oneof(fc.ipV4(), fc.ipV6(), fc.constantFrom('10.0.0.9', 'fd00::9', 'unknown'))).map(String),
	);
	const address = fc.oneof(fc.ipV4(), fc.ipV6()).filter((text) => !isProxyOf(networks)(text, 0));
	fc.assert(
		fc.property(written, address, fc.nat(3), (forged, visitor, inner) => {
			const added = [visitor, ...Array.from({ length: inner }, (_, index) => `10.0.0.${index + 2}`)];
			const header = [forged, ...added].join(', ');
			for (const proxies of [inner + 1, networks])
				assert.equal(clientBehind(proxies, '10.0.0.1', header).address, visitor);
		}),
	);
});
