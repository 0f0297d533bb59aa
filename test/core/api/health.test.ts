import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { migrationFiles } from '../../../src/core/store/migrations.ts';
import { commit } from '../../../src/core/version.ts';
import { eventually } from '../../eventually.ts';
import { appOver } from '../../faulty-store.ts';
import { startService } from '../../support.ts';
import { lockDatabase } from '../store/other-program.ts';

test('/healthz answers while the process runs, and names what runs', async (t) => {
	const startedAtMs = Date.UTC(2026, 10, 21);
	const service = await startService(t, { now: () => startedAtMs });
	const answer = await fetch(`${service.url}/healthz`);
	assert.equal(answer.status, 200);
	assert.deepEqual(await answer.json(), {
		status: 'ok',
		version: JSON.parse(readFileSync(join(import.meta.dirname, '../../../package.json'), 'utf8')).version,
		...(commit !== undefined && { commit }),
		schemas: {
			control: migrationFiles('sqlite', 'control').length,
			accounts: migrationFiles('sqlite', 'client').length,
		},
		startedAt: '2026-11-21T00:00:00.000Z',
		requestsWaiting: 0,
	});
	assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
	assert.match(answer.headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/);
});

test('/readyz is 200 after a write to the store', async (t) => {
	const service = await startService(t);
	const answer = await fetch(`${service.url}/readyz`);
	assert.equal(answer.status, 200);
	assert.equal(await answer.text(), '{"status":"ready"}');
	assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
	assert.match(answer.headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/);
});

test('/readyz is 503 and /healthz 200 while another process locks the control database', async (t) => {
	const service = await startService(t);
	await using lock = await lockDatabase(join(service.folder, 'control.sqlite'));
	const answer = await fetch(`${service.url}/readyz`);
	assert.equal(answer.status, 503);
	assert.equal(await answer.text(), '{"status":"store failing"}');
	assert.equal((await fetch(`${service.url}/healthz`)).status, 200);

	await lock.release();
	await eventually('ready again', async () => (await fetch(`${service.url}/readyz`)).status === 200);
});

test('/readyz is 503 if the store throws or does not answer', async (t) => {
	for (const probe of [() => Promise.reject(new Error('disk full')), () => new Promise<void>(() => {})]) {
		const { app } = await appOver(t, { probe });
		const answer = await app.inject('/readyz');
		assert.equal(answer.statusCode, 503);
		assert.equal(answer.body, '{"status":"store failing"}');
	}
});

test('/readyz is 503 while the server is stopping, even if the store works', async (t) => {
	const { app } = await appOver(t, {}, { isDraining: () => true });
	const answer = await app.inject('/readyz');
	assert.equal(answer.statusCode, 503);
	assert.equal(answer.body, '{"status":"draining"}');
	assert.equal((await app.inject('/healthz')).statusCode, 200);
});

test('frequent requests to /readyz do not cause frequent writes', async (t) => {
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

test('both need no key, and accept only GET and HEAD', async (t) => {
	const service = await startService(t);
	for (const path of ['/healthz', '/readyz']) {
		assert.equal((await fetch(service.url + path, { method: 'HEAD' })).status, 200);
		const answer = await fetch(service.url + path, { method: 'POST' });
		assert.equal(answer.status, 405);
		assert.equal(answer.headers.get('allow'), 'GET, HEAD');
	}
});
