import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { eventually } from '../../eventually.ts';
import { HaproxySite } from '../../haproxy.ts';
import { Nginx } from '../../nginx.ts';
import { browserUserAgent, startService } from '../../support.ts';

for (const { name, start, isSecure } of [
	{ name: 'nginx', start: (url: string) => Nginx.startSite(url, '<title>Shop</title>'), isSecure: false },
	// Its example ends TLS, and says so to the service.
	{
		name: 'haproxy',
		start: (url: string) => HaproxySite.start(url, '<title>Shop</title>'),
		isSecure: true,
	},
])
	test(`behind the ${name} of docs/reference/tag.md, tag, hits and reads are part of the site, and cookies are the service's`, {
		skip: spawnSync(name, ['-v']).error ? `${name} is not installed` : false,
	}, async (t) => {
		const service = await startService(t, {
			behindProxy: 1,
			tagPath: '/assets/shop.js',
			hitPath: '/basket',
		});
		await using site = await start(service.url);
		const answers = () =>
			fetch(site.url).then(
				({ ok }) => ok,
				() => false,
			);
		await eventually(`${name} answers`, answers, 2000);
		assert.match(await (await fetch(site.url)).text(), /Shop/);
		assert.match(await (await fetch(`${site.url}/assets/shop.js`)).text(), /vscr/);
		const fire = (headers: Record<string, string>) =>
			fetch(`${site.url}/basket`, {
				method: 'POST',
				headers: { 'user-agent': browserUserAgent, ...headers },
				body: JSON.stringify({ aid: service.aid, url: `${site.url}/pricing`, cookieDomain: '' }),
			});
		const answer = await fire({});
		assert.equal(answer.headers.get('x-hit-stored'), '1');
		assert.equal(answer.headers.get('set-cookie'), null);
		const { cask } = (await answer.json()) as { cask: string };
		for (const path of ['visscores', 'visscores/segments'])
			assert.equal((await fetch(`${site.url}/${path}?cask=${cask}`)).status, 200, path);
		// What a browser sends, and what an old one does, which names the origin only.
		const firsts: Record<string, string>[] = [
			{ 'sec-fetch-site': 'same-origin' },
			...(isSecure ? [] : [{ origin: site.url.toUpperCase().replace('HTTP', 'http') }]),
		];
		for (const headers of firsts) {
			const first = await fire(headers);
			const { vid } = (await first.json()) as { vid: string };
			const [cookie, ...more] = first.headers.getSetCookie();
			assert.deepEqual(more, []);
			const attributes = `Path=/; Max-Age=34128000; SameSite=Lax${isSecure ? '; Secure' : ''}`;
			assert.match(cookie ?? '', new RegExp(`^vscr_vid=${vid}\\.[0-9a-z]{6}; ${attributes}$`));
			const again = await fire({ ...headers, cookie: cookie?.split(';')[0] ?? '' });
			assert.equal(((await again.json()) as { vid: string }).vid, vid);
		}
		// Nothing else of the service is.
		assert.equal((await fetch(`${site.url}/subscription`)).headers.get('x-request-id'), null);
		assert.doesNotMatch(service.logged.join(), /x-forwarded-for/);
	});
