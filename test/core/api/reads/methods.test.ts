import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openAccount } from '../../../shared-server.ts';
import { startService } from '../../../support.ts';

const noonMs = Date.UTC(2026, 10, 21, 12);
const paths = ['/visscores', '/visscores/segments', '/segments'];

/** The headers, except those that differ per request or connection: fetch closes the connection after HEAD. */
function steadyHeaders(answer: Response): Record<string, string> {
	const headers = new Headers(answer.headers);
	for (const name of ['x-request-id', 'date', 'connection', 'keep-alive']) headers.delete(name);
	return Object.fromEntries(headers);
}

test('HEAD answers with the status and headers of GET, without a body', async (t) => {
	const { url, hit, aid } = await startService(t, { now: () => noonMs });
	const { cask } = await hit();
	for (const path of paths)
		for (const [query, status] of [
			[`cask=${cask}`, 200],
			[`aid=${aid}`, 401],
			[`cask=${cask}&vid=x`, 403],
		] as const) {
			const get = await fetch(`${url}${path}?${query}`);
			const head = await fetch(`${url}${path}?${query}`, { method: 'HEAD' });
			assert.deepEqual([get.status, head.status], [status, status], path);
			assert.equal(await head.text(), '');
			assert.deepEqual(steadyHeaders(head), steadyHeaders(get));
			assert.equal(Number(head.headers.get('content-length')), (await get.bytes()).length);
		}
});

test('OPTIONS tells pages of every origin what they may request, with or without a cask', async () => {
	const { url } = await openAccount();
	for (const path of paths)
		for (const query of ['', '?cask=x']) {
			const answer = await fetch(url + path + query, {
				method: 'OPTIONS',
				headers: { origin: 'https://acme.example', 'access-control-request-method': 'GET' },
			});
			assert.equal(answer.status, 204);
			assert.equal(await answer.text(), '');
			assert.equal(answer.headers.get('access-control-allow-origin'), '*');
			assert.equal(answer.headers.get('access-control-allow-methods'), 'GET, HEAD');
			assert.equal(answer.headers.get('access-control-allow-headers'), 'content-type');
			assert.equal(answer.headers.get('access-control-max-age'), '7200');
			assert.equal(answer.headers.get('access-control-allow-credentials'), null);
			assert.equal(answer.headers.get('allow'), 'GET, HEAD, OPTIONS');
		}
});

test('another method gets 405, which pages of every origin may read', async () => {
	const { url } = await openAccount();
	for (const path of paths)
		for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
			const answer = await fetch(url + path, { method });
			assert.equal(answer.status, 405);
			assert.equal(await answer.text(), '{"message":"Method not allowed.","validationErrors":null}');
			assert.equal(answer.headers.get('allow'), 'GET, HEAD');
			assert.equal(answer.headers.get('access-control-allow-origin'), '*');
		}
});

test('/segments and /visscores/segments answer byte for byte the same', async (t) => {
	const { url, hit, aid } = await startService(t, { now: () => noonMs });
	const { vid, sid, cask } = await hit();
	const ofVisit = await hit({ vid, sid }, {}, '?scope=sid');
	for (const query of [
		`cask=${cask}`,
		`cask=${cask}&aid=${aid}&vid=${vid}&explain=1`,
		`cask=${ofVisit.cask}&sid=${sid}`,
		`cask=${cask}&sid=${sid}`,
		`cask=${cask}x`,
		'',
	]) {
		const [long, short] = [
			await fetch(`${url}/visscores/segments?${query}`),
			await fetch(`${url}/segments?${query}`),
		];
		assert.equal(short.status, long.status, query);
		assert.deepEqual(steadyHeaders(short), steadyHeaders(long));
		assert.deepEqual(await short.bytes(), await long.bytes());
	}
});
