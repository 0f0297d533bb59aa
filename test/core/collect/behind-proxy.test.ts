import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { request } from 'node:http';
import { test } from 'node:test';
import { eventually } from '../../eventually.ts';
import { Haproxy } from '../../haproxy.ts';
import { Nginx } from '../../nginx.ts';
import { takesLong } from '../../quick.ts';
import { connectTo } from '../../raw-http.ts';
import { browserUserAgent, startService, type TestService } from '../../support.ts';

/** One hit of each address while a test runs. */
const oneHit = { hitsPerAddress: 0.001 };

/** Fires a hit from an address of this machine. @returns the status */
function fire(
	{ aid }: TestService,
	url: string,
	from: string,
	headers: Record<string, string | string[]> = {},
): Promise<number> {
	return new Promise((resolve, reject) => {
		const sent = request(
			`${url}/hit`,
			{
				method: 'POST',
				localAddress: from,
				agent: false,
				headers: { 'content-type': 'application/json', 'user-agent': browserUserAgent, ...headers },
			},
			(answer) => answer.resume().once('end', () => resolve(answer.statusCode as number)),
		);
		sent.once('error', reject).end(JSON.stringify({ aid }));
	});
}

const warnings = ({ logged }: TestService) =>
	logged.map((line) => JSON.parse(line)).filter(({ level }) => level === 'warn' || level === 40);

test('a forged first entry of x-forwarded-for does not evade the budget of an address', async (t) => {
	for (const behindProxy of [1, ['127.0.0.0/8']]) {
		const service = await startService(t, { ...oneHit, behindProxy });
		const forged = (count: number, visitor: string) => ({
			'x-forwarded-for': `192.0.2.${count}, ${visitor}`,
		});
		assert.equal(await fire(service, service.url, '127.0.0.1', forged(0, '198.51.100.1')), 200);
		for (let count = 1; count < 20; count++)
			assert.equal(await fire(service, service.url, '127.0.0.1', forged(count, '198.51.100.1')), 429);
		assert.equal(await fire(service, service.url, '127.0.0.1', forged(0, '198.51.100.2')), 200);
		// Several fields are one list.
		const fields = { 'x-forwarded-for': ['198.51.100.9', '198.51.100.2'] };
		assert.equal(await fire(service, service.url, '127.0.0.1', fields), 429);
		assert.deepEqual(warnings(service), []);
	}
});

test('a client that bypasses the named proxies counts by its own address', async (t) => {
	const service = await startService(t, { ...oneHit, behindProxy: ['10.0.0.0/8'] });
	const forged = (count: number) => ({ 'x-forwarded-for': `198.51.100.${count}` });
	assert.equal(await fire(service, service.url, '127.0.0.2', forged(1)), 200);
	assert.equal(await fire(service, service.url, '127.0.0.2', forged(2)), 429);
	assert.equal(await fire(service, service.url, '127.0.0.3', forged(3)), 200);
});

test('hits without a client address are logged once', async (t) => {
	const service = await startService(t, { behindProxy: 1 });
	await fire(service, service.url, '127.0.0.1', { 'x-forwarded-for': '198.51.100.1' });
	assert.deepEqual(warnings(service), []);
	for (let count = 0; count < 3; count++) await fire(service, service.url, '127.0.0.1');
	const [warning, ...more] = warnings(service);
	assert.match(warning.msg, /^a hit came through a proxy that names no client in x-forwarded-for/);
	assert.deepEqual(more, []);
});

test('hits with a client address but no trusted proxy are logged once', async (t) => {
	const service = await startService(t);
	await fire(service, service.url, '127.0.0.1');
	assert.deepEqual(warnings(service), []);
	for (let count = 0; count < 3; count++)
		await fire(service, service.url, '127.0.0.1', { 'x-forwarded-for': '198.51.100.1' });
	const [warning, ...more] = warnings(service);
	assert.match(warning.msg, /--behind-proxy/);
	assert.doesNotMatch(JSON.stringify(warning), /198\.51|127\.0/);
	assert.deepEqual(more, []);
});

test('the PROXY protocol is not supported', async (t) => {
	const service = await startService(t, { behindProxy: 1 });
	const connection = await connectTo(t, service.url);
	connection.send('PROXY TCP4 198.51.100.1 127.0.0.1 4711 80\r\nGET /healthz HTTP/1.1\r\nhost: x\r\n\r\n');
	assert.equal((await connection.answer()).status, 400);
});

for (const [name, version, start] of [
	['HAProxy', '-v', (url: string) => Haproxy.start([url, url])],
	['nginx', '-v', (url: string) => Nginx.start(url)],
] as const) {
	const missing = spawnSync(name.toLowerCase(), [version]).error;
	test(`behind ${name} as shipped, each visitor has a budget, which forging does not evade`, {
		skip: takesLong || (missing && `${name} is not installed on this machine`),
	}, async (t) => {
		const service = await startService(t, { ...oneHit, behindProxy: 1 });
		await using proxy = await start(service.url);
		await eventually(`${name} forwards`, () =>
			fetch(`${proxy.url}/healthz`).then(
				({ ok }) => ok,
				() => false,
			),
		);
		for (const visitor of ['127.0.0.2', '127.0.0.3']) {
			assert.equal(await fire(service, proxy.url, visitor), 200, visitor);
			for (const forged of ['198.51.100.1', '198.51.100.2', '127.0.0.9', 'unknown'])
				assert.equal(await fire(service, proxy.url, visitor, { 'x-forwarded-for': forged }), 429, forged);
		}
		assert.deepEqual(warnings(service), []);
	});
}
