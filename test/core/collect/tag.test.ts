import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { hourMs } from '../../../src/core/durations.ts';
import { eventually } from '../../eventually.ts';
import { takesLong } from '../../quick.ts';
import { startService, type TestService } from '../../support.ts';
import { browserTestMs, openPage, startSite, withoutBrowser } from './browser.ts';
import {
	cookies,
	fire,
	isLoaded,
	openBrowser,
	setAccount,
	settle,
	settleRoute,
	siteWith,
} from './tagged-site.ts';

describe('the tag', { skip: withoutBrowser, timeout: browserTestMs }, () => {
	const { visit, context: openOwn } = openBrowser();

	test('sends and stores nothing before fire', async (t) => {
		const { page, service } = await visit(t, [setAccount, `vscr('addEvent','seen')`]);
		await settle(page);
		assert.deepEqual(await cookies(page), {});
		// Nor when the page is left.
		await page.goto('about:blank');
		await settle(page);
		assert.deepEqual(answered(service), []);
	});

	test('sends what was queued (page, events, customer) and stores visitor and visit', async (t) => {
		const visited = await visit(t, [
			setAccount,
			`vscr('addEvent','seen')`,
			`vscr('addEvent',{name:'checkout',tid:'order-1',rvn:499,currency:'GBP',colour:'red'})`,
			`vscr('addCustomerId','customer-1')`,
			fire,
		]);
		const { page, hits, asked, errors } = visited;
		await page.evaluate('vscr.scores()');
		const [hit] = await hits();
		assert.deepEqual(hit?.body.page, 'pricing');
		assert.equal(hit?.body.title, 'Page /pricing');
		assert.equal(hit?.body.channel, 'direct');
		assert.equal(hit?.body.device, 'desktop');
		assert.equal(hit?.body.cid, 'customer-1');
		assert.deepEqual(hit?.body.events, [
			{ name: 'seen' },
			{ name: 'checkout', tid: 'order-1', isTidUnproven: true, rvn: 499, currency: 'GBP' },
		]);
		const { vscr_seed: seed, ...kept } = await cookies(page);
		assert.match(seed ?? '', /^[0-9a-f]{32}$/);
		assert.deepEqual(kept, { vscr_vid: hit?.vid, vscr_sid: hit?.sid, vscr_aid: 'c-a-acme-uk' });
		assert.deepEqual(asked, ['POST /hit', 'GET /visscores']);
		assert.deepEqual(errors, []);
	});

	test('the cookies are first-party: lax, 13 months and 30 minutes', async (t) => {
		const { page } = await visit(t, [setAccount, fire]);
		await page.evaluate('vscr.scores()');
		const jar = await page.context().cookies();
		const lasts = (name: string) => {
			const cookie = jar.find((candidate) => candidate.name === name);
			assert.equal(cookie?.sameSite, 'Lax');
			assert.equal(cookie?.path, '/');
			return (cookie?.expires ?? 0) - Date.now() / 1000;
		};
		assert.ok(Math.abs(lasts('vscr_vid') - 395 * 86_400) < 60);
		assert.ok(Math.abs(lasts('vscr_sid') - 1800) < 60);
	});

	test('before any answer a browser has a seed, and two pages of it are one visitor, seen once for 13 months', async (t) => {
		const { page, hits } = await visit(t, [setAccount]);
		await page.evaluate(`${fire}; document.cookie`);
		await page.evaluate('vscr.scores()');
		const first = await page.context().cookies();
		const [, since = ''] = (first.find(({ name }) => name === 'vscr_vid')?.value ?? '').split('.');
		assert.ok(Math.abs(Number.parseInt(since, 36) - Date.now() / 1000) < 60);
		// An earlier date stays, and its 13 months go on. Without an answer, the next page has the seed of the last one.
		const early = Number.parseInt(since, 36) - 100 * 86_400;
		const vid = (await cookies(page)).vscr_vid ?? '';
		const dated = `${vid}.${early.toString(36)}`;
		await page.evaluate(`document.cookie = 'vscr_vid=${dated};path=/'`);
		await page.evaluate(`vscr('addEvent','again'); ${fire}`);
		await page.evaluate('vscr.scores()');
		const renewed = (await page.context().cookies()).find(({ name }) => name === 'vscr_vid');
		assert.equal(renewed?.value, dated);
		assert.ok(Math.abs((renewed?.expires ?? 0) - Date.now() / 1000 - 295 * 86_400) < 60);
		assert.equal(new Set((await hits()).map(({ vid }) => vid)).size, 1);
	});

	test('all events that were added before a page is left are sent', async (t) => {
		const { page, hits } = await visit(t, [setAccount, fire]);
		await page.evaluate('vscr.scores()');
		await page.evaluate(`for (let n = 0; n < 100; n++) vscr('addEvent', 'event ' + n)`);
		await page.goto('about:blank');
		const names = async () => (await hits()).flatMap(({ body }) => body.events.map(({ name }) => name));
		await eventually('all have come', async () => new Set(await names()).size === 100, 10_000);
	});

	test('returns scores and segments as promises, and to callbacks queued before it loaded', async (t) => {
		const { page } = await visit(t, [setAccount, fire, `vscr('segments',(found)=>{window.found=found})`]);
		const scores = (await page.evaluate('vscr.scores()')) as { goal: string; score: number }[];
		assert.deepEqual(scores.map(({ goal }) => goal).sort(), ['return', 'subscription']);
		for (const { score } of scores) assert.ok(score > 0 && score < 1);
		const segments = await page.evaluate('vscr.segments()');
		assert.deepEqual(segments, [{ id: 'new', name: 'New visitors' }]);
		assert.deepEqual(await page.evaluate('window.found'), segments);
	});

	test('what is asked before the first fire waits for its answer', async (t) => {
		const { page } = await visit(t, [`vscr('segments',(list)=>{window.told=list})`, setAccount]);
		await isLoaded(page);
		await page.evaluate(`window.asked = vscr.scores(); vscr('fire')`);
		assert.deepEqual(
			(await page.evaluate<{ goal: string }[]>('asked')).map(({ goal }) => goal),
			['subscription', 'return'],
		);
		assert.deepEqual(
			(await page.evaluate<{ id: string }[]>('vscr.segments().then(() => told)')).map(({ id }) => id),
			['new'],
		);
	});

	test('two pages are one visitor and one visit', async (t) => {
		const { page, site, hits } = await visit(t, [setAccount, fire]);
		await page.evaluate('vscr.scores()');
		await Promise.all([page.waitForURL('**/checkout'), page.evaluate(`location.href='${site}/checkout'`)]);
		await isLoaded(page);
		await page.evaluate('vscr.scores()');
		const [first, second] = await hits();
		assert.deepEqual([first?.body.page, second?.body.page], ['pricing', 'checkout']);
		assert.equal(second?.vid, first?.vid);
		assert.equal(second?.sid, first?.sid);
		assert.equal(second?.body.channel, 'internal');
	});

	test('fires when a single-page app changes the path, and only then', async (t) => {
		const { page, hits, site } = await visit(t, [setAccount, fire]);
		await page.evaluate('vscr.scores()');
		const go = async (script: string) => {
			await page.evaluate(script);
			await settleRoute(page);
			await page.evaluate('vscr.scores()');
		};
		await go(`history.pushState(null,'','/a'); document.title='A'`);
		await go(`history.replaceState(null,'','/a?tab=2')`);
		await go(`history.pushState(null,'','/a#there')`);
		await go(`history.pushState(null,'','/gone-at-once'); history.replaceState(null,'','/b')`);
		await go(`new Promise((resolve) => { addEventListener('popstate', resolve); history.go(-3); })`);
		assert.deepEqual(
			(await hits()).map(({ body }) => [body.page, body.referrer]),
			[
				['pricing', null],
				['a', `${site}/pricing`],
				['b', `${site}/a`],
				['pricing', `${site}/b`],
			],
		);
		assert.equal((await hits())[1]?.body.title, 'A');
		assert.equal(new Set((await hits()).map(({ vid }) => vid)).size, 1);
	});

	test('a second fire on the same page adds events, and no second view', { skip: takesLong }, async (t) => {
		const { page, hits } = await visit(t, [setAccount, fire]);
		await page.evaluate(`vscr('addEvent','clicked'); vscr('fire'); vscr.scores()`);
		const [first, second] = await hits();
		assert.deepEqual([first?.body.page, second?.body.page], ['pricing', null]);
		assert.deepEqual(second?.body.events, [{ name: 'clicked' }]);
		assert.equal(second?.vid, first?.vid);
	});

	test('many events become several hits', { skip: takesLong }, async (t) => {
		const { page, hits } = await visit(t, [
			setAccount,
			`for (let i=0;i<45;i++) vscr('addEvent','e'+i)`,
			fire,
		]);
		await page.evaluate('vscr.scores()');
		assert.deepEqual(
			(await hits()).map(({ body }) => body.events.length),
			[20, 20, 5],
		);
		assert.deepEqual(
			new Set((await hits()).flatMap(({ body }) => body.events.map(({ name }) => name))).size,
			45,
		);
	});

	for (const path of ['/pricing', '/', '/?utm_source=letter'])
		test(`sends remaining events by a beacon when ${path} is left`, async (t) => {
			const { page, hits } = await visit(t, [setAccount, fire], { path });
			await page.evaluate('vscr.scores()');
			await page.evaluate(`vscr('addEvent',{name:'checkout',tid:'order-9'})`);
			await page.goto('about:blank');
			await eventually('the beacon is stored', async () => (await hits()).length === 2);
			const [first, left] = await hits();
			assert.deepEqual(left?.body.events, [{ name: 'checkout', tid: 'order-9', isTidUnproven: true }]);
			assert.equal(left?.body.page, null);
			assert.equal(left?.vid, first?.vid);
			assert.equal(left?.sid, first?.sid);
		});

	const signals = {
		'Do Not Track': `Object.defineProperty(Navigator.prototype,'doNotTrack',{get:()=>'1'})`,
		'Global Privacy Control': `Object.defineProperty(Navigator.prototype,'globalPrivacyControl',{get:()=>true})`,
	};
	for (const [signal, initScript] of Object.entries(signals))
		test(`${signal}: sends nothing, keeps nothing, resolves empty`, async (t) => {
			const commands = [setAccount, `vscr('addEvent','seen')`, fire];
			const { page, service } = await visit(t, commands, { initScript });
			assert.deepEqual(await page.evaluate('vscr.scores()'), []);
			assert.deepEqual(await page.evaluate('vscr.segments()'), []);
			await page.evaluate(`history.pushState(null,'','/a')`);
			await page.goto('about:blank');
			await settle(page);
			assert.deepEqual(answered(service), []);
			assert.deepEqual(await page.context().cookies(), []);
		});

	test('consent: nothing while it is refused, everything once it is given, cookies deleted when withdrawn', async (t) => {
		const { page, asked, hits } = await visit(t, [setAccount, `vscr('setConsent',false)`, fire]);
		assert.deepEqual(await page.evaluate('vscr.scores()'), []);
		assert.deepEqual(asked, []);

		await page.evaluate(`vscr('setConsent',true)`);
		assert.notDeepEqual(await page.evaluate('vscr.scores()'), []);
		assert.deepEqual(Object.keys(await cookies(page)).sort(), [
			'vscr_aid',
			'vscr_seed',
			'vscr_sid',
			'vscr_vid',
		]);

		await page.evaluate(`vscr('addEvent','seen'); vscr('setConsent',false)`);
		assert.deepEqual(await cookies(page), {});
		assert.deepEqual(await page.evaluate('vscr.segments()'), []);
		await page.goto('about:blank');
		await settle(page);
		assert.deepEqual(
			(await hits()).map(({ body }) => [body.page, body.events]),
			[['pricing', []]],
		);
	});

	test('what is not true is no consent', async (t) => {
		const { page, asked, warnings } = await visit(t, [setAccount, `vscr('setConsent','denied')`, fire]);
		assert.deepEqual(await page.evaluate('vscr.scores()'), []);
		await settle(page);
		assert.deepEqual([asked, warnings, await cookies(page)], [[], [], {}]);
	});

	test('when consent is withdrawn while a hit is in flight, its answer is not stored', {
		skip: takesLong,
	}, async (t) => {
		const { page } = await visit(t, [setAccount]);
		const response = page.waitForResponse('**/hit');
		await page.evaluate(`vscr('fire'); setTimeout(() => vscr('setConsent',false))`);
		await response;
		await settle(page);
		assert.deepEqual(await cookies(page), {});
	});

	test('when a cask has expired, fires once more and asks again', async (t) => {
		let nowMs = Date.now();
		const { page, asked, hits } = await visit(t, [setAccount, fire], { now: () => nowMs });
		await page.evaluate('vscr.scores()');
		nowMs += 25 * hourMs;
		const scores = (await page.evaluate('vscr.scores()')) as unknown[];
		assert.equal(scores.length, 2);
		assert.deepEqual(asked, ['POST /hit', 'GET /visscores', 'GET /visscores', 'POST /hit', 'GET /visscores']);
		assert.equal(new Set((await hits()).map(({ vid }) => vid)).size, 1);
	});

	test('retries only once', { skip: takesLong }, async (t) => {
		// No cask lives until it is used.
		let nowMs = Date.now();
		const now = () => {
			nowMs += 25 * hourMs;
			return nowMs;
		};
		const { page, asked } = await visit(t, [setAccount, fire], { now });
		assert.deepEqual(await page.evaluate('vscr.scores()'), []);
		assert.deepEqual(asked, ['POST /hit', 'GET /visscores', 'POST /hit', 'GET /visscores']);
	});

	test('a page never sees an exception, whatever the server does', { skip: takesLong }, async (t) => {
		const service = await startService(t);
		const answers = ['', '<p>bad gateway', '{"vid":', 'null', '{"vid":"x","sid":"y","cask":"z"}'];
		const odd = await startSite(t, (path) => answers[Number(path.split('/')[1])]);
		const servers = [`${service.url}/nowhere`, 'http://127.0.0.1:9', 'not a url', ...answers.keys()];
		const site = await siteWith(t, service.url);
		const context = await openOwn(t);
		const { page, errors } = await openPage(context, 'about:blank', service.url);
		for (const server of servers) {
			await page.goto(`${site}/`);
			await isLoaded(page);
			const address = typeof server === 'number' ? `${odd}/${server}` : server;
			await page.evaluate(`vscr('fire'); vscr('setServer',${JSON.stringify(address)}); ${setAccount}; ${fire};
				vscr('addEvent'); vscr('addEvent',{}); vscr('addEvent',null); vscr('nothing'); vscr(); vscr('setServer');
				vscr('addEvent','seen'); ${fire}`);
			assert.deepEqual(await page.evaluate('Promise.all([vscr.scores(), vscr.segments()])'), [[], []]);
			await page.evaluate(`vscr('addEvent','left')`);
			await page.goto('about:blank');
			assert.deepEqual(errors, [], `server ${address}`);
		}
	});

	test('asks the server that it was loaded from, under any path, or the one that the page sets', {
		skip: takesLong,
	}, async (t) => {
		const script = readFileSync(new URL('../../../src/core/collect/tag/tag.v1.js', import.meta.url));
		const asked: string[] = [];
		const server = await startSite(t, (path) => {
			asked.push(path);
			return path.endsWith('tag.js') ? script : undefined;
		});
		const pages = [
			siteWith(t, `${server}/api/staging`, setAccount, fire),
			siteWith(t, `${server}/api/staging`, setAccount, `vscr('setServer','${server}/other/')`, fire),
		];
		const context = await openOwn(t);
		for (const site of await Promise.all(pages)) {
			const { page } = await openPage(context, site, server);
			await isLoaded(page);
			await page.evaluate('vscr.scores()');
		}
		assert.deepEqual(asked, ['/api/staging/tag.js', '/api/staging/hit', '/api/staging/tag.js', '/other/hit']);
	});

	test('sends hits to the path that the site has chosen', { skip: takesLong }, async (t) => {
		const service = await startService(t, { hitPath: '/basket', tagPath: '/assets/shop.js' });
		const queue = 'window.vscr=window.vscr||function(){(vscr.q=vscr.q||[]).push(arguments)};';
		const commands = [`vscr('setServer','${service.url}')`, `vscr('setHitPath','/basket')`, setAccount, fire];
		const site = await startSite(
			t,
			() =>
				`<script>${queue}${commands.join(';')}</script><script async src="${service.url}/assets/shop.js"></script>`,
		);
		const { page, asked } = await openPage(await openOwn(t), site, service.url);
		await isLoaded(page);
		await page.evaluate('vscr.scores()');
		assert.deepEqual(asked, ['POST /basket', 'GET /visscores']);
	});

	test('a browser that followed the opt-out link is not counted until it follows the other', async (t) => {
		const { page, hits, site, warnings } = await visit(t, [setAccount, fire]);
		await page.evaluate('vscr.scores()');
		assert.equal((await hits()).length, 1);
		const said: string[] = [];
		page.on('dialog', (dialog) => {
			said.push(dialog.message());
			return dialog.accept();
		});
		const open = async (path: string) => {
			await page.goto('about:blank');
			await page.goto(site + path);
			await isLoaded(page);
			await page.evaluate('vscr.scores()');
			await settle(page);
		};
		await open('/pricing#vscr-off');
		assert.deepEqual(await cookies(page), { vscr_off: '1' });
		await open('/other');
		assert.equal((await hits()).length, 1);
		assert.equal(warnings.at(-1), 'vscr: nothing is sent: opted out by settings or #vscr-off');
		await open('/pricing#vscr-on');
		assert.equal((await hits()).length, 2);
		assert.deepEqual(said, ['Your visits are not counted.', 'Your visits are counted.']);
	});

	test('including the tag twice on a page runs it once', { skip: takesLong }, async (t) => {
		const { page, service, hits } = await visit(t, [setAccount, fire]);
		await page.addScriptTag({ url: `${service.url}/tag.v3.js` });
		await page.evaluate('vscr.scores()');
		assert.equal((await hits()).length, 1);
	});

	test('pages of an origin that the account does not name get nothing', async (t) => {
		const service = await startService(t);
		const aid = 'c-a-acme-de';
		await service.store.control.createAccount(
			{ aid, client: 'acme', origins: ['https://acme.example'] },
			(id) => service.store.createAccountDatabase(id),
		);
		await service.server.directory.refresh();
		const site = await siteWith(t, service.url, `vscr('setAccount','${aid}')`, fire);
		const context = await openOwn(t);
		const { page, errors, warnings } = await openPage(context, site, service.url);
		await isLoaded(page);
		assert.deepEqual(await page.evaluate('vscr.scores()'), []);
		await page.evaluate(`${fire}; vscr.scores()`);
		// What the browser calls itself, and what nobody has been told.
		assert.deepEqual(Object.keys(await cookies(page)), ['vscr_seed']);
		assert.deepEqual(errors, []);
		assert.deepEqual(warnings, ['vscr: the hit was refused: Forbidden']);
	});

	describe('says in the console, once, what a developer would wonder about', () => {
		test('hits of this browser are not stored, because it counts as a bot', async (t) => {
			const service = await startService(t);
			const site = await siteWith(t, service.url, setAccount, fire);
			const context = await openOwn(t, undefined, { userAgent: 'HeadlessChrome/142.0.0.0' });
			const { page, warnings } = await openPage(context, site, service.url);
			await isLoaded(page);
			await page.evaluate(`vscr.scores(); ${fire}; vscr.scores()`);
			assert.deepEqual(warnings, ['vscr: hits are not stored: a bot, or an ignored network']);
		});

		test('a command that does not exist, or lacks its argument', async (t) => {
			const { warnings, page } = await visit(t, [
				...[`vscr('bogus')`, `vscr('bogus')`, `vscr('toString')`, 'vscr()', `vscr('setServer')`],
				...[`vscr('addEvent',null)`, `vscr('addEvent',{})`, `vscr(Object.create(null))`],
			]);
			await settle(page);
			assert.deepEqual(warnings, [
				'vscr: no command bogus',
				'vscr: no command toString',
				'vscr: no command undefined',
				'vscr: setServer: a URL is required',
				'vscr: addEvent: a name is required',
				'vscr: Cannot convert object to primitive value',
			]);
		});

		test('an account that does not exist, none, and a hit that the service refuses', async (t) => {
			const { warnings, page } = await visit(t, [fire, `vscr('setAccount','c-a-nope')`, fire, fire]);
			await page.evaluate('vscr.scores()');
			await page.evaluate(`${setAccount}; vscr('addEvent',{name:'x',rvn:4.99}); ${fire}; vscr.scores()`);
			assert.deepEqual(warnings, [
				'vscr: setAccount comes before fire',
				'vscr: the hit was refused: There is no account c-a-nope. Invalid account',
				'vscr: events[0].rvn must be an integer',
			]);
		});

		test('another address than that of the service', async (t) => {
			const { page, warnings } = await visit(t, [setAccount]);
			await page.route('**/gone/hit', (route) => route.fulfill({ status: 404, body: '<h1>Not Found</h1>' }));
			for (const server of ['/gone', '/app', 'http://127.0.0.1:9'])
				await page.evaluate(`vscr('setServer','${server}'); ${fire}; vscr.scores()`);
			assert.equal(warnings[0], 'vscr: the hit was refused: 404');
			assert.match(
				warnings[1] ?? '',
				/^vscr: no answer to the hit: Unexpected token '<'.* is not valid JSON$/,
			);
			assert.deepEqual(warnings.slice(2), ['vscr: no answer to the hit: Failed to fetch']);
		});

		test('a browser that asks not to be tracked', async (t) => {
			const initScript = signals['Do Not Track'];
			const { page, warnings } = await visit(t, [setAccount, fire, fire], { initScript });
			await settle(page);
			assert.deepEqual(warnings, ['vscr: nothing is sent: opted out by settings or #vscr-off']);
		});

		test('nothing, where all is well', async (t) => {
			const { page, warnings } = await visit(t, [setAccount, `vscr('addEvent','seen')`, fire]);
			await page.evaluate('vscr.scores()');
			await page.evaluate(`vscr('setConsent',false); ${fire}; vscr('setConsent',true)`);
			await page.evaluate('vscr.segments()');
			assert.deepEqual(warnings, []);
		});
	});
});

/** Operations that the service has answered, the script itself aside; it sees beacons too, which a page may not. */
function answered({ logged }: TestService): string[] {
	return logged
		.map((line) => (JSON.parse(line) as { operation?: string }).operation ?? 'none')
		.filter((operation) => operation !== 'none');
}
