import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerToWriter, connectTo, uploadHead } from '../../../raw-http.ts';
import { openAccount } from '../../../shared-server.ts';
import { event } from '../../../support.ts';

const tooLarge =
	'{"message":"Payload too large.","validationErrors":"the body may have at most 262144 bytes"}';
const limit = 256 * 1024;

test('256 KiB are accepted, one more byte is not', async () => {
	const service = await openAccount();
	// White space is part of the body.
	const ofSize = (size: number) => JSON.stringify({ aid: service.aid, data: [event()] }).padEnd(size);
	assert.equal((await service.upload(ofSize(limit))).status, 201);
	const answer = await service.upload(ofSize(limit + 1));
	assert.equal(answer.status, 413);
	assert.equal(await answer.text(), tooLarge);
	assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
	assert.match(answer.headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/);
	assert.match(answer.headers.get('ratelimit-policy') ?? '', /^"rate";q=\d+;w=1, "quota";q=\d+;w=\d+$/);
	assert.equal((await service.stored()).length, 1);
});

test('the limit counts bytes, not characters', async () => {
	const service = await openAccount();
	const body = JSON.stringify({ aid: service.aid, data: [event()], padding: '' });
	const padded = body.replace('"padding":""', `"padding":"${'é'.repeat(limit / 2)}"`);
	assert.ok(padded.length < limit);
	assert.equal((await service.upload(padded)).status, 413);
	assert.deepEqual(await service.stored(), []);
});

test('a declared length that is too large is refused before the body is sent', async (t) => {
	const service = await openAccount();
	for (const expect of [undefined, '100-continue']) {
		const connection = await connectTo(t, service.url);
		connection.send(uploadHead({ 'x-api-key': service.key, 'content-length': limit + 1, expect }));
		const answer = await connection.answer();
		assert.equal(answer.status, 413);
		assert.equal(answer.body, tooLarge);
		connection.destroy();
	}
});

test('a chunked body is refused once it is too large, and nothing is stored', async (t) => {
	const service = await openAccount();
	const body = JSON.stringify({ aid: service.aid, data: [event()] });
	const connection = await connectTo(t, service.url);
	const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
	connection.send(uploadHead({ 'x-api-key': service.key, 'transfer-encoding': 'chunked' }), chunk(body));
	for (let sent = body.length; sent <= limit; sent += 16_384) connection.send(chunk(' '.repeat(16_384)));
	const answer = await connection.answer();
	assert.equal(answer.status, 413);
	assert.equal(answer.body, tooLarge);
	connection.send('0\r\n\r\n');
	assert.equal((await service.upload({ aid: service.aid, data: [event({ tid: 'after' })] })).status, 201);
	assert.deepEqual(
		(await service.stored()).map(({ tid }) => tid),
		['after'],
	);
});

test('a client that keeps sending is disconnected', async (t) => {
	const service = await openAccount();
	const connection = await connectTo(t, service.url);
	connection.send(uploadHead({ 'x-api-key': service.key, 'content-length': 100_000_000 }));
	assert.equal((await connection.answer()).status, 413);
	for (let sent = 0; sent < 18; sent++) connection.send(Buffer.alloc(1024 * 1024));
	await connection.closed;
});

test('a client that sends all of a too large body can read the answer', async () => {
	const service = await openAccount();
	const answers = await Promise.all(
		Array.from({ length: 10 }, () => service.upload(' '.repeat(limit + 100_000))),
	);
	for (const answer of answers) assert.equal(await answer.text(), tooLarge);
});

test('so can one that writes ten megabytes before it reads', async (t) => {
	const service = await openAccount();
	const bytes = 10 * 1024 * 1024;
	const head = uploadHead({ 'x-api-key': service.key, 'content-length': bytes });
	assert.ok((await answerToWriter(t, service.url, head, bytes, { pauseMs: 0 })).endsWith(tooLarge));
});
