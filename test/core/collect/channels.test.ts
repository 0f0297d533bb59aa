import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { arrivalOf, type Landing, matches } from '../../../src/core/collect/channels.ts';
import { isBot } from '../../../src/core/collect/device.ts';
import { toHitRecord } from '../../../src/core/collect/hit-record.ts';
import { clickIds, knownSources, publicLists } from '../../../src/core/collect/known-sources.ts';
import type { ChannelRule } from '../../../src/core/domain/channel-rule.ts';
import { touchOf } from '../../../src/core/domain/touch.ts';
import { examples } from '../../quick.ts';
import { agents, arrivalCases } from './arrivals.ts';

const site = 'https://www.acme.example/pricing';
const channelOf = (arrival: Landing, rules?: readonly ChannelRule[]) => arrivalOf(arrival, rules).channel;

function from(referrer: string, url = site) {
	return channelOf({ url, referrer });
}
function landing(query: string, referrer = '') {
	return channelOf({ url: `${site}?${query}`, referrer });
}

describe('by the referrer', () => {
	const cases: [referrer: string, channel: string][] = [
		['', 'direct'],
		['not a url', 'direct'],
		['about:blank', 'direct'],
		['https://www.google.co.uk/', 'organic search'],
		['https://duckduckgo.com/', 'organic search'],
		['https://www.bing.com/search?q=acme', 'organic search'],
		['https://uk.search.yahoo.com/', 'organic search'],
		['https://www.baidu.com/', 'organic search'],
		['https://l.facebook.com/', 'social'],
		['https://t.co/abc', 'social'],
		['https://x.com/', 'social'],
		['https://www.tiktok.com/', 'social'],
		['https://uk.linkedin.com/', 'social'],
		['https://mail.google.com/mail/u/0/', 'email'],
		['android-app://com.google.android.gm/', 'email'],
		['https://outlook.live.com/', 'email'],
		['https://ad.doubleclick.net/x', 'display'],
		['https://chatgpt.com/', 'ai assistant'],
		['https://gemini.google.com/', 'ai assistant'],
		['https://blog.example/review', 'referral'],
		['https://en.wikipedia.org/wiki/Acme', 'referral'],
		['https://www.acme.example/', 'internal'],
		['http://acme.example/', 'internal'],
		['https://shop.acme.example/', 'internal'],
	];
	for (const [referrer, channel] of cases)
		test(`${referrer || 'none'} is ${channel}`, () => assert.equal(from(referrer), channel));

	test('a host that only begins or ends like a known one does not match', () => {
		assert.equal(from('https://t.company.example/'), 'referral');
		assert.equal(from('https://google.com.evil.example/'), 'referral');
		assert.equal(from('https://notgoogle.com/'), 'referral');
		assert.equal(from('https://notacme.example/'), 'referral');
	});

	test('other services of a search engine are not search', () => {
		assert.equal(from('https://docs.google.com/document/1'), 'referral');
		assert.equal(from('https://accounts.google.com/'), 'referral');
	});
});

describe('by the landing URL', () => {
	const cases: [query: string, channel: string][] = [
		['gclid=1', 'paid search'],
		['gbraid=1', 'paid search'],
		['msclkid=1', 'paid search'],
		['dclid=1', 'display'],
		['ttclid=1', 'paid social'],
		['fbclid=1', 'social'],
		['mc_eid=1', 'email'],
		['awc=1', 'affiliates'],
		['utm_source=google&utm_medium=cpc', 'paid search'],
		['utm_source=Google&utm_medium=CPC', 'paid search'],
		['utm_source=facebook&utm_medium=paid_social&fbclid=1', 'paid social'],
		['utm_source=fb&utm_medium=cpc', 'paid social'],
		['utm_source=somewhere&utm_medium=cpc', 'paid other'],
		['utm_source=somewhere&utm_medium=cpm', 'display'],
		['utm_source=google&utm_medium=organic', 'organic search'],
		['utm_source=instagram&utm_medium=social', 'social'],
		['utm_source=instagram', 'social'],
		['utm_source=instagram.com', 'social'],
		['utm_source=chatgpt.com', 'ai assistant'],
		['utm_source=november&utm_medium=email', 'email'],
		['utm_source=november&utm_medium=E-Mail', 'email'],
		['utm_source=newsletter', 'email'],
		['utm_source=partner&utm_medium=affiliate', 'affiliates'],
		['utm_source=site&utm_medium=banner', 'display'],
		['utm_source=site&utm_medium=referral', 'referral'],
		['utm_medium=sms', 'sms'],
		['utm_medium=web-push', 'push'],
		['utm_source=poster&utm_medium=qr', 'other'],
		['colour=red', 'direct'],
	];
	for (const [query, channel] of cases)
		test(`${query} is ${channel}`, () => assert.equal(landing(query), channel));

	test('a campaign takes precedence over the referrer', () => {
		assert.equal(landing('gclid=1', 'https://www.google.com/'), 'paid search');
		assert.equal(landing('utm_medium=email', 'https://www.google.com/'), 'email');
		assert.equal(landing('colour=red', 'https://www.google.com/'), 'organic search');
	});
});

describe('by rules of the account', () => {
	test('the first matching rule takes precedence', () => {
		const rules = [
			{ channel: 'podcast', pattern: '*?*ref=podcast*' },
			{ channel: 'partners', pattern: '*.Partner.example/*' },
			{ channel: 'search', pattern: 'www.google.*' },
		];
		const channel = (url: string, referrer = '') => channelOf({ url, referrer }, rules);
		assert.equal(channel(`${site}?ref=podcast-7&gclid=1`), 'podcast');
		assert.equal(channel(site, 'https://news.partner.example/a'), 'partners');
		assert.equal(channel(site, 'https://www.google.com/'), 'search');
		assert.equal(channel(site, 'https://duckduckgo.com/'), 'organic search');
	});

	test('a pattern means what the regular expression means', () => {
		const text = fc.string({ unit: fc.constantFrom('a', 'b', '.'), maxLength: 8 });
		const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*'), maxLength: 8 });
		fc.assert(
			fc.property(pattern, text, (glob, value) => {
				const source = glob.split('*').map(RegExp.escape).join('.*');
				assert.equal(matches(glob, value), new RegExp(`^${source}$`).test(value));
			}),
			{ numRuns: examples(2000) },
		);
	});
});

test('every input has a channel', () => {
	const anything = fc.oneof(fc.webUrl({ withQueryParameters: true }), fc.string(), fc.constant(null));
	fc.assert(
		fc.property(anything, anything, (url, referrer) => {
			assert.match(channelOf({ url, referrer }), /^[a-z ]+$/);
		}),
	);
});

describe('as people arrive', () => {
	for (const { what, query = '', referrer = '', userAgent, channel, source } of arrivalCases)
		test(`${what} is ${channel}`, () => {
			const url = query ? `${site}?${query}` : site;
			const body = toHitRecord({ url, referrer }, [], 'mobile', userAgent);
			assert.equal(body.channel, channel);
			const touch = touchOf({ atMs: 0, body: { ...body, channel: 'any' } }, true);
			assert.equal(touch?.source, source);
		});

	test('browsers of apps are people', () => {
		for (const [name, agent] of Object.entries(agents)) assert.ok(!isBot(agent), name);
	});

	test('each page in the browser of an app looks like an arrival, but only the first of a visit is one', () => {
		const body = toHitRecord({ url: site }, [], 'mobile', agents.instagram);
		assert.equal(touchOf({ atMs: 0, body }, true)?.channel, 'social');
		assert.equal(touchOf({ atMs: 0, body }, false), null);
		const clicked = toHitRecord({ url: `${site}?gclid=1` }, [], 'mobile', agents.instagram);
		assert.equal(touchOf({ atMs: 0, body: clicked }, false)?.channel, 'paid search');
	});

	test('a hit that tells nothing of its page is no arrival from an app', () => {
		const body = toHitRecord({}, [], 'mobile', agents.instagram);
		assert.equal(body.channel, 'direct');
		assert.ok(!('source' in body));
	});

	test("the account's own rules decide first, and the source stays", () => {
		const rules = [
			{ channel: 'my paid', pattern: '*?*fbclid=*' },
			{ channel: 'my app', pattern: 'com.google.android.gm/*' },
		];
		const fromRule = (landing: Landing) => arrivalOf(landing, rules);
		assert.deepEqual(fromRule({ url: `${site}?fbclid=1`, referrer: null, userAgent: agents.instagram }), {
			channel: 'my paid',
			source: 'instagram.com',
		});
		assert.deepEqual(fromRule({ url: site, referrer: 'android-app://com.google.android.gm/' }), {
			channel: 'my app',
			source: 'mail.google.com',
		});
	});
});

test('every entry of the list says where it is from, and none is there twice', () => {
	const seen = new Map<string, string>();
	const once = (kind: string, words: string) => {
		for (const word of words.split(' ').filter(Boolean)) {
			assert.ok(!seen.has(`${kind} ${word}`), `${kind} ${word}`);
			seen.set(`${kind} ${word}`, word);
		}
	};
	for (const { hosts, apps = '', names = '', agents: own = [], from: lists } of knownSources) {
		once('host', hosts);
		once('app', apps);
		once('name', names);
		for (const agent of own) once('agent', agent.replaceAll(' ', '_'));
		assert.ok(lists.length > 0 && lists.every((name) => URL.canParse(publicLists[name])), hosts);
	}
	for (const { names, from: lists } of clickIds) {
		once('id', names);
		assert.ok(names === names.toLowerCase());
		assert.ok(lists.length > 0 && lists.every((name) => URL.canParse(publicLists[name])), names);
	}
});
