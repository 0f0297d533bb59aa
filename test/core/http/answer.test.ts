import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectTo, uploadHead } from '../../raw-http.ts';
import { openAccount } from '../../shared-server.ts';
import { event, startService } from '../../support.ts';

const badRequest = '{"message":"Bad request.","validationErrors":null}';
const requestId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

test('an unknown path: 404', async () => {
	const service = await openAccount();
	for (const [method, path] of [
		['GET', '/nothing'],
		['POST', '/subscription/'],
		['POST', '/Subscription'],
		['POST', '//subscription'],
		['POST', '/subscriptions'],
		['OPTIONS', '/nothing'],
		['GET', `/${'x'.repeat(5000)}`],
	] as const) {
		const answer = await fetch(service.url + path, { method });
		assert.equal(answer.status, 404, path);
		assert.equal(await answer.text(), '{"message":"Not found.","validationErrors":null}');
		assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
		assert.match(answer.headers.get('x-request-id') ?? '', requestId);
	}
});

test('a malformed path: 400', async () => {
	const service = await openAccount();
	const answer = await fetch(`${service.url}/%zz`);
	assert.equal(answer.status, 400);
	assert.equal(
		await answer.text(),
		'{"message":"Bad request.","validationErrors":"the path is not a valid URL path"}',
	);
	assert.match(answer.headers.get('x-request-id') ?? '', requestId);
});

test('a query string changes nothing', async () => {
	const service = await openAccount();
	const answer = await fetch(`${service.url}/subscription?simulate=true`, {
		method: 'POST',
		headers: { 'x-api-key': service.key, 'content-type': 'application/json' },
		body: JSON.stringify({ aid: service.aid, data: [event()] }),
	});
	assert.equal(answer.status, 201);
});

test('bytes that are not HTTP: 400, and the connection is closed', async (t) => {
	const service = await openAccount();
	// The first request of a key waits for a lease of its quota before its body is read; those after it do not.
	await service.upload({ aid: service.aid, data: [event()], simulate: true });
	const key = { 'x-api-key': service.key };
	for (const request of [
		'no HTTP\r\n\r\n',
		'{"aid":"c-a-acme-uk"}\r\n\r\n',
		uploadHead({ ...key, 'content-length': '-1' }),
		uploadHead({ ...key, 'content-length': '5', 'Content-Length': '6' }),
		uploadHead({ ...key, 'content-length': '99999999999999999999' }),
		uploadHead({ ...key, 'content-length': '5', 'transfer-encoding': 'chunked' }),
		uploadHead({ ...key, 'transfer-encoding': 'gzip' }),
		`${uploadHead({ ...key, 'transfer-encoding': 'chunked' })}no length\r\n`,
	]) {
		const connection = await connectTo(t, service.url);
		connection.send(request);
		const answer = await connection.answer();
		assert.equal(answer.status, 400, request);
		assert.equal(answer.body, badRequest);
		assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
		assert.match(answer.headers.get('x-request-id') ?? '', requestId);
		await connection.closed;
	}
});

test('headers over 16 KiB: 431', async (t) => {
	const service = await openAccount();
	const connection = await connectTo(t, service.url);
	connection.send(uploadHead({ 'x-api-key': service.key, 'x-large': 'x'.repeat(17_000) }));
	const answer = await connection.answer();
	assert.equal(answer.status, 431);
	assert.equal(answer.body, '{"message":"Request header fields too large.","validationErrors":null}');
	assert.match(answer.headers.get('x-request-id') ?? '', requestId);
	await connection.closed;
});

test('errors that Node detects have a request id too', async (t) => {
	const service = await openAccount();
	const requests: [what: string, head: string][] = [
		['no host', uploadHead({ host: undefined, 'x-api-key': service.key, 'content-length': 0 })],
		['an unknown expectation', uploadHead({ 'x-api-key': service.key, 'content-length': 0, expect: 'tea' })],
	];
	for (const [what, head] of requests) {
		const connection = await connectTo(t, service.url);
		connection.send(head);
		assert.match((await connection.answer()).headers.get('x-request-id') ?? '', requestId, what);
		connection.destroy();
	}
});

test('garbage after an upload does not turn its 201 into an error', async (t) => {
	const service = await startService(t);
	// The first upload of a key waits for a lease of its quota; the second need not, so its body is read at once.
	await service.upload({ aid: service.aid, data: [event()] });
	const body = JSON.stringify({ aid: service.aid, data: [event()] });
	const connection = await connectTo(t, service.url);
	connection.send(`${uploadHead({ 'x-api-key': service.key, 'content-length': body.length })}${body}garbage`);
	const { status } = await connection.answer();
	await connection.closed;
	// Whatever is right for the garbage: only 201 stores, and what is stored is answered with 201.
	await service.server.stop();
	assert.equal((await service.stored()).length, status === 201 ? 2 : 1, `answered ${status}`);
});

test('a client that sent garbage and stays connected does not keep the server from stopping', async (t) => {
	const service = await startService(t);
	const { hostname, port } = new URL(service.url);
	const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
	socket.write('no HTTP\r\n\r\n');
	await once(socket, 'data');
	const outcome = await Promise.race([
		service.server.stop().then(() => 'stopped'),
		sleep(60_000, 'still waiting', { ref: false }),
	]);
	socket.destroy();
	assert.equal(outcome, 'stopped');
});
