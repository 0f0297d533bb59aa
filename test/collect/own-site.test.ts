import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { eventually } from '../eventually.ts';
import { Nginx } from '../nginx.ts';
import { browserUserAgent, startService } from '../support.ts';

const withoutNginx = spawnSync('nginx', ['-v']).error ? 'nginx is not installed' : false;

test('behind the nginx of docs/tag.md, tag, hits and reads are part of the site', {
	skip: withoutNginx,
}, async (t) => {
	const service = await startService(t, { behindProxy: 1, tagPath: '/assets/shop.js', hitPath: '/basket' });
	await using site = await Nginx.startSite(service.url, '<title>Shop</title>');
	const answers = () =>
		fetch(site.url).then(
			({ ok }) => ok,
			() => false,
		);
	await eventually('nginx answers', answers, 2000);
	assert.match(await (await fetch(site.url)).text(), /Shop/);
	assert.match(await (await fetch(`${site.url}/assets/shop.js`)).text(), /vscr/);
	const answer = await fetch(`${site.url}/basket`, {
		method: 'POST',
		headers: { 'user-agent': browserUserAgent },
		body: JSON.stringify({ aid: service.aid, url: `${site.url}/pricing` }),
	});
	assert.equal(answer.headers.get('x-hit-stored'), '1');
	const { cask } = (await answer.json()) as { cask: string };
	for (const path of ['visscores', 'visscores/segments'])
		assert.equal((await fetch(`${site.url}/${path}?cask=${cask}`)).status, 200, path);
	// Nothing else of the service is.
	assert.equal((await fetch(`${site.url}/subscription`)).headers.get('x-request-id'), null);
	assert.doesNotMatch(service.logged.join(), /x-forwarded-for/);
});
