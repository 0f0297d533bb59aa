import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { eventually } from '../eventually.ts';
import { appOver } from '../faulty-store.ts';
import { lockDatabase } from '../lock.ts';
import { startService } from '../support.ts';

test('/healthz: the process answers', async (t) => {
	const service = await startService(t);
	const answer = await fetch(`${service.url}/healthz`);
	assert.equal(answer.status, 200);
	assert.equal(await answer.text(), '{"status":"ok"}');
	assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
	assert.match(answer.headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/);
});

test('/readyz: a write into the store succeeds', async (t) => {
	const service = await startService(t);
	const answer = await fetch(`${service.url}/readyz`);
	assert.equal(answer.status, 200);
	assert.equal(await answer.text(), '{"status":"ready"}');
	assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
	assert.match(answer.headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/);
});

test('/readyz: 503 while another process has the control database locked; /healthz stays 200', async (t) => {
	const service = await startService(t);
	await using lock = await lockDatabase(join(service.folder, 'control.sqlite'));
	const answer = await fetch(`${service.url}/readyz`);
	assert.equal(answer.status, 503);
	assert.equal(await answer.text(), '{"status":"store failing"}');
	assert.equal((await fetch(`${service.url}/healthz`)).status, 200);

	await lock.release();
	await eventually('ready again', async () => (await fetch(`${service.url}/readyz`)).status === 200);
});

test('/readyz: 503 when the store throws, and when it does not answer', async (t) => {
	for (const probe of [() => Promise.reject(new Error('disk full')), () => new Promise<void>(() => {})]) {
		const { app } = await appOver(t, { probe });
		const answer = await app.inject('/readyz');
		assert.equal(answer.statusCode, 503);
		assert.equal(answer.body, '{"status":"store failing"}');
	}
});

test('/readyz: 503 while the server is stopping, though the store works', async (t) => {
	const { app } = await appOver(t, {}, { isDraining: () => true });
	const answer = await app.inject('/readyz');
	assert.equal(answer.statusCode, 503);
	assert.equal(answer.body, '{"status":"draining"}');
	assert.equal((await app.inject('/healthz')).statusCode, 200);
});

test('/readyz: asking often does not write often', async (t) => {
	let probes = 0;
	const { app } = await appOver(t, {
		probe: async () => {
			probes++;
		},
	});
	const beganMs = performance.now();
	await Promise.all(Array.from({ length: 50 }, () => app.inject('/readyz')));
	const seconds = (performance.now() - beganMs) / 1000;
	assert.ok(probes <= 1 + seconds, `${probes} in ${seconds} s`);
});

test('they need no key, and nobody but GET and HEAD gets an answer', async (t) => {
	const service = await startService(t);
	for (const path of ['/healthz', '/readyz']) {
		assert.equal((await fetch(service.url + path, { method: 'HEAD' })).status, 200);
		const answer = await fetch(service.url + path, { method: 'POST' });
		assert.equal(answer.status, 405);
		assert.equal(answer.headers.get('allow'), 'GET, HEAD');
	}
});
