import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { cleanUrl, pageOf } from '../../../src/core/collect/page-address.ts';
import { codePoint } from '../../code-point.ts';

/** Of this process, so that what else runs on the machine does not count. */
function cpuMsSince(before: NodeJS.CpuUsage): number {
	const { user, system } = process.cpuUsage(before);
	return (user + system) / 1000;
}

describe('pageOf', () => {
	const cases: [url: string, page: string | null][] = [
		['https://acme.example', '/'],
		['https://acme.example//', '/'],
		['https://acme.example/pricing/', 'pricing'],
		['https://acme.example/a/b?c=d#e', 'a/b'],
		['https://acme.example/caf%C3%A9', 'café'],
		['https://acme.example/100%', '100%'],
		['https://acme.example/%ff', '%ff'],
		['https://acme.example/a%00b', 'a%00b'],
		['https://acme.example/a%2Fb%2F', 'a/b'],
		['ftp://acme.example/a', null],
		['javascript:alert(1)', null],
		['/pricing', null],
		['', null],
	];
	for (const [url, page] of cases)
		test(`${url || 'nothing'} is ${page}`, () => assert.equal(pageOf(url), page));

	test('has at most 100 characters, and never half a surrogate pair', () => {
		const page = pageOf(`https://acme.example/${'a'.repeat(99)}${encodeURIComponent('😀')}`);
		assert.equal(page, 'a'.repeat(99));
	});

	test('takes linear time in the number of slashes', () => {
		const before = process.cpuUsage();
		assert.equal(pageOf(`https://acme.example/a${'/'.repeat(200_000)}b`), `a${'/'.repeat(99)}`);
		assert.ok(cpuMsSince(before) < 1000);
	});
});

describe('cleanUrl', () => {
	test('keeps origin, path and campaign', () => {
		assert.equal(
			cleanUrl(
				'https://ann:pw@acme.example:8443/a/b?email=ann%40x.example&utm_source=a%20b&UTM_Medium=cpc&token=1#me',
			),
			'https://acme.example:8443/a/b?utm_source=a%20b&UTM_Medium=cpc',
		);
	});

	test('is null for anything but a web page', () => {
		for (const url of [null, undefined, '', 'x', 'mailto:ann@x.example', 'android-app://com.x/'])
			assert.equal(cleanUrl(url), null);
	});

	test('leaves out a whole parameter that does not fit', () => {
		const long = 'x'.repeat(480);
		assert.equal(
			cleanUrl(`https://acme.example/?utm_term=${long}&utm_source=a`),
			'https://acme.example/?utm_source=a',
		);
		assert.equal(cleanUrl(`https://acme.example/${long}`)?.length, 500);
	});
});

test('the result is bounded and well-formed for any input, and contains only path and campaign', () => {
	const url = fc.webUrl({ withQueryParameters: true, withFragments: true });
	fc.assert(
		fc.property(url, (sent) => {
			const cleaned = cleanUrl(sent) as string;
			assert.ok(cleaned.length <= 500 && cleaned.isWellFormed());
			assert.equal(cleanUrl(cleaned), cleaned);
			const { hash, searchParams } = new URL(cleaned);
			assert.equal(hash, '');
			for (const name of searchParams.keys()) assert.match(name, /^utm_/i);
			const page = pageOf(sent) as string;
			assert.ok(page.length >= 1 && page.length <= 100 && page.isWellFormed());
		}),
	);
	fc.assert(
		fc.property(fc.string({ unit: codePoint }), (sent) => {
			pageOf(sent);
			cleanUrl(sent);
		}),
	);
});
