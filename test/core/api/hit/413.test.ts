import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countVisitors } from '../../../../src/core/store/account/reading/visitors.ts';
import { connectTo } from '../../../raw-http.ts';
import { openAccount } from '../../../shared-server.ts';
import { browserUserAgent } from '../../../support.ts';

test('16 KiB are accepted, one more byte is not', async () => {
	const { sendHit, aid } = await openAccount();
	const ofSize = (bytes: number) => JSON.stringify({ aid }).padEnd(bytes);
	assert.equal((await sendHit(ofSize(16_384))).status, 200);
	const answer = await sendHit(ofSize(16_385));
	assert.equal(answer.status, 413);
	assert.match(await answer.text(), /at most 16384 bytes/);
	assert.equal(answer.headers.get('access-control-allow-origin'), '*');
});

test('a chunked body is refused once it is too large, and nothing is stored', async (t) => {
	const { url, aid, store, hit } = await openAccount();
	const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
	const connection = await connectTo(t, url);
	connection.send(
		[
			'POST /hit HTTP/1.1',
			'host: caskade.test',
			'content-type: text/plain',
			'transfer-encoding: chunked',
			`user-agent: ${browserUserAgent}`,
			'\r\n',
		].join('\r\n'),
		chunk(JSON.stringify({ aid })),
	);
	for (let sent = 0; sent <= 16_384; sent += 4096) connection.send(chunk(' '.repeat(4096)));
	const { status, headers, body } = await connection.answer();
	assert.equal(status, 413);
	assert.match(body, /at most 16384 bytes/);
	assert.equal(headers.get('access-control-allow-origin'), '*');
	connection.send('0\r\n\r\n');
	const { id } = await store.control.account(aid);
	assert.equal(await store.read(id, countVisitors()), 0);
	await hit();
});
