import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '../../eventually.ts';
import { Nginx } from '../../nginx.ts';
import { takesLong } from '../../quick.ts';
import { type Lasting, startService } from '../../support.ts';

const nginxIsMissing = spawnSync('nginx', ['-v']).error && 'nginx is not installed on this machine';

test('a connection without a request is closed after the time that is set', async (t) => {
	const { url } = await startService(t, { keepAliveMs: 1000 });
	const socket = connect(Number(new URL(url).port), '127.0.0.1');
	t.after(() => socket.destroy());
	socket.write('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n');
	await once(socket, 'data');
	const beganMs = performance.now();
	socket.resume();
	await once(socket, 'end');
	assert.ok(performance.now() - beganMs >= 900, 'not before');
});

/** A network between a proxy and the service, of 10 ms: what is closed on one side is still open on the other. */
async function distanceTo(t: Lasting, url: string): Promise<string> {
	const sockets = new Set<Socket>();
	const server = createServer({ allowHalfOpen: true }, (near) => {
		const far = connect({ port: Number(new URL(url).port), host: '127.0.0.1', allowHalfOpen: true });
		for (const [from, to] of [
			[near, far],
			[far, near],
		] as const) {
			sockets.add(from);
			const later = (act: () => void) => setTimeout(act, 10);
			from.on('data', (data) => later(() => to.writable && to.write(data)));
			from.on('end', () => later(() => to.end()));
			from.on('error', () => later(() => to.resetAndDestroy()));
			from.on('close', () => later(() => to.destroy()));
		}
	});
	t.after(() => {
		for (const socket of sockets) socket.destroy();
		server.close();
	});
	await once(server.listen(0, '127.0.0.1'), 'listening');
	return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function post(url: string, agent: Agent): Promise<number | undefined> {
	return new Promise((resolve) => {
		const sent = request(`${url}/subscription`, { method: 'POST', agent }, (answer) =>
			answer.resume().once('end', () => resolve(answer.statusCode)),
		);
		sent.once('error', () => resolve(undefined)).end('{}');
	});
}

/** Bursts of requests, with gaps of about the time after which the service closes. @returns how many had no answer of the service */
async function failuresWith(t: Lasting, nginxKeepsMs: number): Promise<number> {
	const service = await startService(t, { keepAliveMs: 1000, behindProxy: 1 });
	await using proxy = await Nginx.start(await distanceTo(t, service.url), `${nginxKeepsMs}ms`);
	const agent = new Agent({ keepAlive: true });
	t.after(() => agent.destroy());
	await eventually('nginx forwards', async () => (await post(proxy.url, agent)) === 403);
	let failures = 0;
	// Node.js closes a second later than it says.
	for (const gapMs of [1975, 1980, 1985, 1990, 1995]) {
		const answers = await Promise.all(Array.from({ length: 30 }, () => post(proxy.url, agent)));
		failures += answers.filter((status) => status !== 403).length;
		await delay(gapMs);
	}
	return failures;
}

test('no request is lost behind a proxy that lets go of idle connections before the service does', {
	skip: takesLong || nginxIsMissing,
}, async (t) => {
	const [before, after] = await Promise.all([failuresWith(t, 500), failuresWith(t, 60_000)]);
	assert.equal(before, 0);
	if (after === 0) t.diagnostic('no request met a connection that was being closed');
});
