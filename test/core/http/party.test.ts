import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FastifyRequest } from 'fastify';
import { commonDomain, type Party, partyOf } from '../../../src/core/http/party.ts';

test('a request is of the host’s own origin, of its site, or of nobody that is known', () => {
	const cases: [headers: Record<string, string>, party: Party][] = [
		[{ 'sec-fetch-site': 'same-origin' }, 'origin'],
		// A proxy in between may have changed the host.
		[{ 'sec-fetch-site': 'same-origin', origin: 'https://www.acme.example', host: 'inside' }, 'origin'],
		[{ 'sec-fetch-site': 'same-site', origin: 'https://www.acme.example', host: 'other.example' }, 'site'],
		[{ 'sec-fetch-site': 'cross-site', origin: 'https://acme.example', host: 'acme.example' }, 'third'],
		[{ 'sec-fetch-site': 'none', host: 'acme.example' }, 'third'],
		// Browsers that say no more than the origin.
		[{ origin: 'https://www.acme.example', host: 'www.acme.example' }, 'origin'],
		[{ origin: 'https://www.acme.example:8443', host: 'WWW.acme.example' }, 'origin'],
		[{ origin: 'https://www.acme.example', host: 'collect.acme.example:8080' }, 'site'],
		[{ origin: 'https://www.acme.example', host: 'www.globex.example' }, 'third'],
		[{ origin: 'https://acme.example.evil.test', host: 'acme.example' }, 'third'],
		[{ origin: 'http://10.0.0.1', host: '20.0.0.1' }, 'third'],
		[{ origin: 'http://127.0.0.1:1', host: '127.0.0.1:2' }, 'origin'],
		[{ origin: 'null', host: 'acme.example' }, 'third'],
		[{ origin: 'null' }, 'third'],
		[{ host: 'acme.example' }, 'third'],
		[{}, 'third'],
	];
	for (const [headers, party] of cases)
		assert.equal(partyOf({ headers } as unknown as FastifyRequest), party, JSON.stringify(headers));
});

test('the domain in common has two labels at least', () => {
	for (const [origin, host, domain] of [
		['https://www.acme.example', 'collect.acme.example', 'acme.example'],
		['https://acme.example', 'collect.acme.example:8080', 'acme.example'],
		['https://a.shop.acme.example', 'b.shop.acme.example', 'shop.acme.example'],
		['https://myacme.example', 'acme.example', undefined],
		['https://localhost', 'localhost', undefined],
		['http://10.1.0.1', '10.2.0.1', undefined],
		['http://[::1]', '[::1]', undefined],
	] as const)
		assert.equal(commonDomain(origin, host), domain, origin);
});
