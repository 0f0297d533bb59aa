import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { deviceOf, isBot } from '../../../src/core/collect/device.ts';
import { toHitRecord } from '../../../src/core/collect/hit-record.ts';
import { clientOf, isProxyOf } from '../../../src/core/domain/client-address.ts';
import { checkBodyHeaders } from '../../../src/core/http/body.ts';
import { examples } from '../../quick.ts';

/** So much may a page say of its address. */
const length = 8192;
const site = 'https://shop.example/';
const rules = [{ channel: 'partner', pattern: '*.partner.example/*a*b*ref=*' }];

const store = (url: string, referrer: string) =>
	toHitRecord(
		{ url, referrer, title: url.slice(0, 2000), cid: null, events: [] },
		rules,
		'desktop',
		undefined,
	);

/** CPU time of this thread, so that what else runs on the machine does not count; the least of some tries. */
function cpuMicroseconds(work: () => unknown): number {
	const tries = Array.from({ length: 3 }, () => {
		const before = process.threadCpuUsage();
		for (let count = 0; count < 5; count++) work();
		const { user, system } = process.threadCpuUsage(before);
		return (user + system) / 5;
	});
	return Math.min(...tries);
}

/** The unit again and again, between a beginning and an end. */
const filled = (before: string, unit: string, after = '', characters = length) =>
	(before + unit.repeat(Math.ceil(characters / unit.length))).slice(0, characters - after.length) + after;

/** What an address full of ordinary parameters costs on this machine, now. */
const ordinary = () => {
	const url = filled(`${site}?`, 'colour=red&');
	store(url, url);
	return cpuMicroseconds(() => store(url, url));
};
/** Quadratic time over 8,192 characters is a hundred times as much. */
const maxTimes = 12;

const usual = ordinary();

function assertCheap(what: string, work: () => unknown): void {
	if (cpuMicroseconds(work) <= maxTimes * usual) return;
	// Code that is not compiled yet, a page of memory, a collection: what is dear by itself is so every time.
	const isDear = () => cpuMicroseconds(work) > maxTimes * Math.max(usual, ordinary());
	assert.ok(!Array.from({ length: 20 }, isDear).every(Boolean), what);
}

test('no page URL costs much more than another of its length', () => {
	for (const url of [
		filled(`${site}?utm_medium=`, 'cpa', '%0Ax'),
		filled(`${site}?utm_medium=`, 'paid', '%0A'),
		filled(`${site}?utm_source=`, 'a.'),
		filled(`${site}?utm_source=`, '.'),
		filled('https://', 'a.', 'b/'),
		filled('https://a', '.', '/'),
		filled('https://', 'www.', '/'),
		filled('https://', 'ü.', '/'),
		filled('https://', 'xn--a-ecp.', '/'),
		filled(site, '/'),
		filled(`${site}?`, '&'),
		filled(`${site}?`, '%%20&'),
		filled(`${site}?`, 'utm_medium=%%20&'),
		filled(`${site}?`, 'utm_a=b&'),
	]) {
		assertCheap(`as URL: ${url.slice(0, 60)}`, () => store(url, site));
		assertCheap(`as referrer: ${url.slice(0, 60)}`, () => store(site, url));
	}
});

test('repetition in a URL does not raise its cost', () => {
	const before = fc.constantFrom(
		...['', site, `${site}?`, `${site}#`, 'https://', 'https://xn--', 'android-app://', 'https://a@'],
		...['medium', 'source', 'campaign'].map((name) => `${site}?utm_${name}=`),
	);
	const piece = fc.constantFrom(
		...['a', '.', '/', '%', '&', '=', '-', '_', '@', ':', '+', '?', '#', '*', '1', ' ', '\n', '\\', 'ü'],
		...[
			'cp',
			'cpa',
			'paid',
			'push',
			'social',
			'www.',
			'm.',
			'google.',
			'%0A',
			'%20',
			'%41',
			'%C3%A9',
			'utm_',
		],
	);
	const unit = fc.array(piece, { minLength: 1, maxLength: 4 }).map((pieces) => pieces.join(''));
	fc.assert(
		fc.property(before, unit, fc.constantFrom('', 'x', '/', '%0Ax', '@a/'), (start, repeated, end) => {
			const url = filled(start, repeated, end);
			assertCheap(`${start} ${repeated} ${end}`, () => store(url, url));
		}),
		{ numRuns: examples(50) },
	);
});

test('repetition in a header does not raise its cost', () => {
	const isProxy = isProxyOf(['10.0.0.0/8', 'fd00::/8']);
	const from = (forwardedFor: string) =>
		({ headers: { 'x-forwarded-for': forwardedFor }, socket: { remoteAddress: '10.0.0.1' } }) as never;
	const taken = (contentType: string) => {
		try {
			checkBodyHeaders({ 'content-type': contentType });
		} catch {}
	};
	const pieces = [
		...[
			'a',
			' ',
			';',
			',',
			'"',
			'=',
			'/',
			'(',
			')',
			'.',
			':',
			'1',
			'\t',
			'10.0.0.1,',
			'fd00::1, ',
			'1.1.1.1, ',
		],
		...[
			';charset=',
			'; charset=utf-8',
			'application/json;',
			'Mozilla/5.0 ',
			'Android ',
			'Version/',
			'bot ',
			'like ',
		],
	];
	for (const piece of pieces)
		for (const before of ['', 'application/json;', 'Mozilla/5.0 (', 'text/plain; charset="']) {
			const header = filled(before, piece, '', 16_000);
			assertCheap(`content-type: ${before}${piece}`, () => taken(header));
			assertCheap(`x-forwarded-for: ${before}${piece}`, () => clientOf(from(header), isProxy));
			let salt = 0;
			assertCheap(`user-agent: ${before}${piece}`, () => {
				// Those that were seen are remembered.
				const userAgent = `${salt++}${header}`;
				return [deviceOf(userAgent), isBot(userAgent)];
			});
		}
});
