import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openAccount } from '../../../shared-server.ts';
import { event, startService } from '../../../support.ts';

const noonMs = Date.UTC(2026, 10, 21, 12);

test('/visscores/segments and /segments return the default segments of a new visitor', async (t) => {
	const { url, hit } = await startService(t, { now: () => noonMs });
	const { vid, cask } = await hit();
	for (const path of ['/visscores/segments', '/segments']) {
		const answer = await fetch(`${url}${path}?cask=${cask}`);
		assert.equal(answer.status, 200);
		assert.equal(
			await answer.text(),
			`{"aid":"c-a-acme-uk","vid":"${vid}","segments":[{"id":"new","name":"New visitors"}],"evaluatedAt":"2026-11-21T12:00:00.000Z","expiresAt":"2026-11-22T12:00:00.000Z"}`,
		);
		assert.equal(answer.headers.get('cache-control'), 'private, no-store');
		assert.equal(answer.headers.get('access-control-allow-origin'), '*');
	}
});

test('a sale that starts on a page and is uploaded later makes the visitor a subscriber', async () => {
	const { url, aid, hit, upload } = await openAccount();
	const { cask } = await hit({ events: [{ name: 'checkout', tid: 'order-web-1' }] });
	const answer = await upload({ aid, data: [event({ tid: 'order-web-1' })] });
	assert.equal(answer.status, 201);
	const { segments } = (await (await fetch(`${url}/segments?cask=${cask}`)).json()) as {
		segments: { id: string }[];
	};
	assert.deepEqual(
		segments.map(({ id }) => id),
		['new', 'subscriber'],
	);
});
