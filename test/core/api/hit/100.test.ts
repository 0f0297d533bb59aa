import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectTo } from '../../../raw-http.ts';
import { openAccount } from '../../../shared-server.ts';
import { browserUserAgent } from '../../../support.ts';

const head = (headers: Record<string, string | number>, version = '1.1') =>
	[
		`POST /hit HTTP/${version}`,
		...Object.entries({ host: 'a', 'user-agent': browserUserAgent, expect: '100-continue', ...headers }).map(
			([name, value]) => `${name}: ${value}`,
		),
		'\r\n',
	].join('\r\n');

test('a client that sends "Expect: 100-continue" gets 100', async (t) => {
	const { url, aid } = await openAccount();
	const body = JSON.stringify({ aid });
	for (const expect of ['100-continue', '100-Continue']) {
		const connection = await connectTo(t, url);
		connection.send(head({ 'content-type': 'application/json', 'content-length': body.length, expect }));
		assert.equal((await connection.answer()).status, 100);
		connection.send(body);
		const answer = await connection.answer();
		assert.equal(answer.status, 200, answer.body);
		assert.equal(answer.headers.get('x-hit-stored'), '1');
	}
});

test('a body that would be refused gets no 100', async (t) => {
	const { url } = await openAccount();
	for (const [headers, status] of [
		[{ 'content-type': 'image/png', 'content-length': 10 }, 415],
		[{ 'content-type': 'application/json', 'content-length': 17_000 }, 413],
	] as const) {
		const connection = await connectTo(t, url);
		connection.send(head(headers));
		assert.equal((await connection.answer()).status, status);
	}
});

test('an HTTP/1.0 client gets no interim response', async (t) => {
	const { url, aid } = await openAccount();
	const body = JSON.stringify({ aid });
	const connection = await connectTo(t, url);
	connection.send(head({ 'content-type': 'application/json', 'content-length': body.length }, '1.0'), body);
	assert.equal((await connection.answer()).status, 200);
});
