import assert from 'node:assert/strict';
import { test } from 'node:test';
import { browserUserAgent, startService } from '../../../support.ts';

const dayMs = 86_400_000;
const seconds = (days: number) => days * 86_400;
const own = { 'sec-fetch-site': 'same-origin' };

async function start(t: Parameters<typeof startService>[0]) {
	const clock = { nowMs: Date.UTC(2026, 10, 21, 12) };
	const service = await startService(t, { now: () => clock.nowMs, behindProxy: 1 });
	const fire = async (body: object, headers: Record<string, string>) => {
		const answer = await service.sendHit({ cookieDomain: null, ...body }, headers);
		const told = (await answer.json()) as { vid: string; hasCookies?: true };
		return { ...told, answer, cookies: answer.headers.getSetCookie() };
	};
	const since = (days = 0) => (Math.floor(clock.nowMs / 1000) + seconds(days)).toString(36);
	return { ...service, clock, fire, since };
}

test("a hit of the page's own origin is answered with the visitor's cookie, renewed up to 13 months after the first sight", async (t) => {
	const { clock, fire, since } = await start(t);
	const first = since();
	const { vid, cookies, hasCookies } = await fire({}, own);
	assert.equal(hasCookies, true);
	assert.deepEqual(cookies, [`vscr_vid=${vid}.${first}; Path=/; Max-Age=${seconds(395)}; SameSite=Lax`]);
	const cookie = `other=1; vscr_vid=${vid}.${first}; vscr_sid=x`;
	clock.nowMs += 200 * dayMs;
	assert.deepEqual((await fire({ vid }, { ...own, cookie })).cookies, [
		`vscr_vid=${vid}.${first}; Path=/; Max-Age=${seconds(195)}; SameSite=Lax`,
	]);
	// Past its end a cookie counts for nothing, and a page that has kept the vid does not get it another 13 months.
	clock.nowMs += 195 * dayMs;
	assert.deepEqual((await fire({ vid }, { ...own, cookie })).cookies, []);
	const next = await fire({}, { ...own, cookie });
	assert.notEqual(next.vid, vid);
	assert.deepEqual(next.cookies, [
		`vscr_vid=${next.vid}.${since()}; Path=/; Max-Age=${seconds(395)}; SameSite=Lax`,
	]);
});

test('the first sight is that of the seed, of an older cookie without a date now, and never in the future', async (t) => {
	const { fire, since } = await start(t);
	const seed = '7c9e6679f7b84a0e9d3b1f2a5c8d4e60';
	const seeded = await fire({ seed }, { ...own, cookie: `vscr_seed=${seed}.${since(-3)}` });
	assert.match(seeded.cookies.join(), new RegExp(`\\.${since(-3)}; .*Max-Age=${seconds(392)};`));
	const { vid } = seeded;
	for (const [value, date] of [
		[vid, since()],
		[`${vid}.${since(9)}`, since()],
		[`${vid}.!`, since()],
	] as const)
		assert.match(
			(await fire({ vid }, { ...own, cookie: `vscr_vid=${value}` })).cookies.join(),
			new RegExp(`^vscr_vid=${vid}\\.${date};`),
			value,
		);
	// Of two cookies with one name, the older one counts, in any order.
	const { vid: later } = await fire({}, own);
	const both = [`vscr_vid=${later}.${since(-1)}`, `vscr_vid=${vid}.${since(-2)}`];
	for (const cookie of [both.join('; '), both.toReversed().join('; ')])
		assert.match((await fire({}, { ...own, cookie })).cookies.join(), new RegExp(`^vscr_vid=${vid}\\.`));
});

test('cookies are secure where the request came by https, and have the domain that the page found', async (t) => {
	const { fire } = await start(t);
	const https = { ...own, 'x-forwarded-proto': 'https', 'x-forwarded-for': '198.51.100.7' };
	assert.match((await fire({}, https)).cookies.join(), /; SameSite=Lax; Secure$/);
	assert.match(
		(await fire({ cookieDomain: 'shop.example' }, own)).cookies.join(),
		/; Domain=shop\.example; /,
	);
	for (const cookieDomain of ['', null])
		assert.doesNotMatch((await fire({ cookieDomain }, own)).cookies.join(), /Domain/);
	const odd = await fire({ cookieDomain: 'a; Secure' }, own);
	assert.doesNotMatch(odd.cookies.join(), /Domain|Secure/);
});

test('an origin of the same site needs to be named by the account, and then may send credentials', async (t) => {
	const { fire, store, aid, server } = await start(t);
	const page = { origin: 'https://www.acme.example', 'sec-fetch-site': 'same-site' };
	const unnamed = await fire({}, page);
	assert.deepEqual(unnamed.cookies, []);
	assert.equal(unnamed.answer.headers.get('access-control-allow-origin'), '*');
	assert.equal(unnamed.answer.headers.get('access-control-allow-credentials'), null);
	await store.control.updateAccount(aid, { origins: [page.origin] });
	await server.directory.refresh();
	const named = await fire({ cookieDomain: 'acme.example' }, page);
	assert.match(named.cookies.join(), new RegExp(`^vscr_vid=${named.vid}\\..*; Domain=acme\\.example; `));
	assert.equal(named.answer.headers.get('access-control-allow-origin'), page.origin);
	assert.equal(named.answer.headers.get('access-control-allow-credentials'), 'true');
	const other = await fire({}, { ...page, origin: 'https://shop.acme.example' });
	assert.equal(other.answer.status, 403);
	assert.deepEqual([other.cookies, other.answer.headers.get('access-control-allow-credentials')], [[], null]);
});

test('third parties, other programs and bots get no cookie, and the answer that they always got', async (t) => {
	const { fire, store, aid, server, url } = await start(t);
	const others: Record<string, string>[] = [
		{},
		{ origin: 'https://www.acme.example' },
		{ origin: 'https://www.acme.example', 'sec-fetch-site': 'cross-site' },
		// Nobody's page.
		{ 'sec-fetch-site': 'none' },
		{ origin: url, 'sec-fetch-site': 'cross-site' },
		{ origin: 'null' },
		{ ...own, 'user-agent': 'Googlebot/2.1' },
	];
	for (const origins of [[], ['https://www.acme.example', url, 'null']]) {
		await store.control.updateAccount(aid, { origins });
		await server.directory.refresh();
		for (const headers of others) {
			const { answer, cookies, ...told } = await fire(
				{},
				{ ...headers, cookie: `vscr_vid=${'1'.repeat(32)}` },
			);
			assert.equal(answer.status, 200);
			assert.deepEqual(cookies, []);
			assert.equal(answer.headers.get('access-control-allow-credentials'), null);
			assert.deepEqual(Object.keys(told), ['vid', 'sid', 'cask', 'caskExpiresAt']);
		}
	}
});

test('tags published before, which cannot read a cookie with a date, keep their own cookies', async (t) => {
	const { sendHit } = await start(t);
	const vid = '1'.repeat(32);
	const answer = await sendHit({ vid }, { ...own, cookie: `vscr_vid=${vid}` });
	assert.deepEqual(answer.headers.getSetCookie(), []);
	assert.equal('hasCookies' in ((await answer.json()) as object), false);
});

test('an image of the page’s own origin keeps its visitor by the cookie alone', async (t) => {
	const { aid, url } = await start(t);
	const ask = (headers: Record<string, string>) =>
		fetch(`${url}/hit.gif?aid=${aid}&event=seen`, {
			headers: { 'user-agent': browserUserAgent, ...own, ...headers },
		});
	const [cookie = ''] = (await ask({})).headers.getSetCookie();
	const [again = ''] = (await ask({ cookie: cookie.split(';')[0] ?? '' })).headers.getSetCookie();
	assert.match(cookie, /^vscr_vid=[0-9a-f]{32}\./);
	assert.equal(again, cookie);
});
