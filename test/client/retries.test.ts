import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import {
	BadGatewayError,
	Caskade,
	type CaskadeError,
	ConnectionError,
	InternalServerError,
	OverloadedError,
	RateLimitError,
	RequestTimedOutError,
	UnexpectedAnswerError,
} from '../../client/src/index.ts';
import { openAccount } from '../shared-server.ts';
import { clientOf, newsletters } from './client.ts';

async function serverThat(t: TestContext, answer: RequestListener): Promise<string> {
	const server = createServer(answer).listen(0, '127.0.0.1');
	t.after(() => {
		server.close();
		server.closeAllConnections();
	});
	await new Promise((resolve) => server.once('listening', resolve));
	return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('a lost answer is requested again, and nothing is stored twice', async () => {
	const service = await openAccount();
	let lost = 0;
	const losing: typeof fetch = async (input, init) => {
		const answer = await fetch(input, init);
		if (lost++ < 2) throw new TypeError('fetch failed', { cause: new Error('read ECONNRESET') });
		return answer;
	};
	const result = await clientOf(service, { fetch: losing }).subscriptions.upload(service.aid, newsletters(3));
	assert.equal(result.attempts, 3);
	assert.deepEqual([result.stored, result.duplicates, result.conflicts], [0, 3, 0]);
	assert.equal((await service.stored()).length, 3);
});

test('transient errors are retried up to the limit, others are not', async (t) => {
	let asked = 0;
	let status = 500;
	const url = await serverThat(t, (_request, response) => {
		asked++;
		response.writeHead(status, { 'x-request-id': 'r-1', 'retry-after': '0' }).end('{"message":"No."}');
	});
	const caskade = new Caskade({ url, apiKey: 'k', maxRetries: 2 });
	for (const [answer, Class, attempts] of [
		[500, InternalServerError, 3],
		[502, BadGatewayError, 3],
		[503, OverloadedError, 3],
		[504, RequestTimedOutError, 3],
		[429, RateLimitError, 3],
		[418, UnexpectedAnswerError, 1],
		[302, UnexpectedAnswerError, 1],
	] as const) {
		asked = 0;
		status = answer;
		const error: CaskadeError = await caskade.subscriptions.upload('a', newsletters(1)).then(
			() => assert.fail(),
			(thrown) => thrown,
		);
		assert.ok(error instanceof Class, `${answer}: ${error}`);
		assert.equal(error.name, Class.name);
		assert.deepEqual(
			[asked, error.attempts, error.status, error.requestId],
			[attempts, attempts, answer, 'r-1'],
		);
	}
});

test('a wait of more than a minute is reported at once', async () => {
	const service = await openAccount({ ratePerSecond: 0.001, burst: 1 });
	const { subscriptions } = clientOf(service);
	await subscriptions.upload(service.aid, newsletters(1));
	const other = clientOf(service).subscriptions.upload(service.aid, newsletters(1));
	await assert.rejects(other, (error: CaskadeError) => {
		assert.ok(error instanceof RateLimitError);
		assert.ok((error.retryAfterMs ?? 0) > 900_000);
		return error.attempts === 1;
	});
});

test('an answer that is not from Caskade is not a success', async (t) => {
	let body = '';
	const url = await serverThat(t, (_request, response) => {
		response.writeHead(201, body.startsWith('{') ? { 'x-request-id': 'r' } : {}).end(body);
	});
	const { subscriptions } = new Caskade({ url, apiKey: 'k' });
	for (body of ['<html>Log in</html>', '{"message":"Subscription created successfully."}'])
		await assert.rejects(subscriptions.upload('a', newsletters(1)), UnexpectedAnswerError);
});

test('a server that does not answer, or not completely, times out', async (t) => {
	const url = await serverThat(t, (_request, response) => response.writeHead(201).write('{'));
	const caskade = new Caskade({ url, apiKey: 'k', timeoutMs: 100, maxRetries: 1 });
	await assert.rejects(caskade.subscriptions.upload('a', newsletters(1)), (error: CaskadeError) => {
		assert.ok(error instanceof ConnectionError);
		assert.match(error.message, /no answer within 100 ms/);
		return error.attempts === 2;
	});
	const stop = new AbortController();
	const stopped = new Caskade({ url, apiKey: 'k' }).usage({ signal: stop.signal });
	stop.abort(new Error('stopped'));
	await assert.rejects(stopped, /stopped/);
});

test('invalid input is rejected before anything is sent', () => {
	assert.throws(() => new Caskade({ url: 'ftp://x', apiKey: 'k' }), /url must begin with https/);
	assert.throws(() => new Caskade({ url: 'nonsense', apiKey: 'k' }), TypeError);
	assert.throws(() => new Caskade({ url: 'https://x', apiKey: '' }), /apiKey/);
});
