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
	type Retry,
	UnexpectedAnswerError,
} from '../../client/src/index.ts';
import { Subscriptions } from '../../client/src/subscriptions.ts';
import { Transport } from '../../client/src/transport.ts';
import { freePort } from '../free-port.ts';
import { openAccount } from '../shared-server.ts';
import { clientOf, jumpingClock, newsletters } from './client.ts';

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
	async function losing(this: unknown, url: string, init: RequestInit): Promise<Response> {
		// Workers and browsers refuse to be called as a method.
		assert.equal(this, undefined);
		const answer = await fetch(url, init);
		if (lost++ < 2) throw new TypeError('fetch failed', { cause: new Error('read ECONNRESET') });
		return answer;
	}
	const result = await clientOf(service, { fetch: losing }).subscriptions.upload(service.aid, newsletters(3));
	assert.equal(result.attempts, 3);
	assert.deepEqual([result.stored, result.duplicates, result.conflicts], [0, 3, 0]);
	assert.equal((await service.stored()).length, 3);
});

/** The error that a call must throw. */
function failure(call: Promise<unknown>): Promise<CaskadeError> {
	return call.then(
		() => assert.fail('it did not fail'),
		(error) => error,
	);
}

test('transient errors are retried for as long as the caller says, others are not', async (t) => {
	let asked = 0;
	let status = 500;
	const url = await serverThat(t, (_request, response) => {
		asked++;
		response.writeHead(status, { 'x-request-id': 'r-1', 'retry-after': '0' }).end('{"message":"No."}');
	});
	for (const [answer, Class, isRetried] of [
		[500, InternalServerError, true],
		[502, BadGatewayError, true],
		[503, OverloadedError, true],
		[504, RequestTimedOutError, true],
		[429, RateLimitError, true],
		[418, UnexpectedAnswerError, false],
		[302, UnexpectedAnswerError, false],
	] as const) {
		asked = 0;
		status = answer;
		const clock = jumpingClock();
		const subscriptions = new Subscriptions(new Transport({ url, apiKey: 'k' }, clock));
		const retries: Retry[] = [];
		const options = { retryForMs: 60_000, onRetry: (retry: Retry) => retries.push(retry) };
		const error = await failure(subscriptions.upload('a', newsletters(1), options));
		assert.ok(error instanceof Class, `${answer}: ${error}`);
		assert.equal(error.name, Class.name);
		assert.deepEqual([error.attempts, error.status, error.requestId], [asked, answer, 'r-1']);
		assert.equal(retries.length, asked - 1);
		// The last attempt is at the end of the time. The pacer may wait a little more.
		assert.ok(isRetried ? clock.now() >= 60_000 && clock.now() < 70_000 : asked === 1, `${clock.now()} ms`);
		for (const [index, retry] of retries.entries()) {
			assert.ok(retry.error instanceof Class);
			assert.equal(retry.attempts, index + 1);
			assert.ok(retry.failingForMs >= (retries[index - 1]?.failingForMs ?? 0));
			assert.ok(retry.waitMs <= 10_000 && retry.failingForMs + retry.waitMs <= 60_000);
		}
		asked = 0;
		assert.equal((await failure(subscriptions.upload('a', newsletters(1), { retryForMs: 0 }))).attempts, 1);
		assert.equal(asked, 1);
	}
});

test('uploadAll outlives a server that is away for two minutes, and no longer', async () => {
	const service = await openAccount();
	const nowhere = `http://127.0.0.1:${await freePort()}`;
	for (const [awayMs, isOutlived] of [
		[110_000, true],
		[140_000, false],
	] as const) {
		const clock = jumpingClock();
		let answered = 0;
		// Away from the third request on.
		let backAtMs = Number.POSITIVE_INFINITY;
		const transport = new Transport(
			{
				url: service.url,
				apiKey: service.key,
				fetch: async (input, init) => {
					if (answered === 2) backAtMs = Math.min(backAtMs, clock.now() + awayMs);
					if (answered >= 2 && clock.now() < backAtMs) return fetch(nowhere);
					answered++;
					return fetch(input, init);
				},
			},
			clock,
		);
		const waits: string[] = [];
		const uploaded = new Subscriptions(transport).uploadAll(service.aid, newsletters(100, `T-${awayMs}`), {
			concurrency: 1,
			onRetry: ({ error }) => waits.push(String((error as ConnectionError).code)),
		});
		if (isOutlived) assert.equal((await uploaded).stored, 100);
		else {
			const error = await failure(uploaded);
			assert.ok(error instanceof ConnectionError);
			assert.match(error.message, /ECONNREFUSED/);
			const summary = { requests: 2, stored: 60, duplicates: 0, conflicts: 0, rejected: 0, left: 40 };
			assert.deepEqual(error.summary, summary);
		}
		assert.ok(waits.length > 10 && waits.every((code) => code === 'ECONNREFUSED'), waits.join());
	}
});

test('the error of uploadAll does not guess how many events an iterator has left', async () => {
	const service = await openAccount({ quotaPerMonth: 1 });
	const { subscriptions } = clientOf(service);
	const error = await failure(subscriptions.uploadAll(service.aid, newsletters(90).values()));
	assert.deepEqual(
		[error.name, error.summary?.stored, error.summary?.left],
		['QuotaExceededError', 30, null],
	);
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
	const transport = new Transport({ url, apiKey: 'k', timeoutMs: 100, retryForMs: 1 }, jumpingClock());
	await assert.rejects(new Subscriptions(transport).upload('a', newsletters(1)), (error: CaskadeError) => {
		assert.ok(error instanceof ConnectionError);
		assert.match(error.message, /no answer within 100 ms/);
		return error.attempts >= 2;
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
