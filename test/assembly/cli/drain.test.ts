import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { type TestContext, test } from 'node:test';
import type { OpenStore } from '../../../src/core/store/store.ts';
import { openFor, storedEvents } from '../../core/store/engines.ts';
import { installedPostgresDatabase } from '../../core/store/postgres-server.ts';
import { assertMisused, caskadeWithin, ServeProcess, withinASecond } from '../../process.ts';
import { takesLong } from '../../quick.ts';
import { connectTo, type RawConnection, uploadHead } from '../../raw-http.ts';
import { addClient, event, temporaryFolder } from '../../support.ts';

/** Longer than any test takes. */
const drainDelayMs = 600_000;

interface Draining {
	readonly server: ServeProcess;
	readonly store: OpenStore;
	readonly aid: string;
	readonly key: string;
	stored(): Promise<string[]>;
}

async function startWithDelay(t: TestContext, address: string, ...flags: string[]): Promise<Draining> {
	const store = await openFor(t, address);
	const { aid, key } = await addClient(store);
	const server = await ServeProcess.start([
		...['--database', address, '--drain-delay-ms', String(drainDelayMs), ...flags],
	]);
	t.after(() => server.kill());
	const { id } = await store.control.account(aid);
	const stored = async () => (await storedEvents(store, id)).map(({ tid }) => tid);
	return { server, store, aid, key, stored };
}

const readiness = async ({ url }: ServeProcess) => (await fetch(`${url}/readyz`)).text();

function upload(connection: RawConnection, { aid, key }: Draining, tid: string) {
	const body = JSON.stringify({ aid, data: [event({ tid })] });
	connection.send(uploadHead({ 'x-api-key': key, 'content-length': body.length }), body);
	return connection.answer();
}

for (const [place, flags] of [
	['one process', []],
	['processes', ['--workers', '2']],
] as const)
	test(`${place}: stops by itself when the delay is over, not before`, {
		skip: place === 'processes' && takesLong,
	}, async (t) => {
		const address =
			place === 'processes' ? await installedPostgresDatabase() : `sqlite:${temporaryFolder(t)}`;
		const { server } = await startWithDelay(t, address, '--drain-delay-ms', '400', ...flags);
		const beganMs = performance.now();
		const { code, stderr } = await server.kill('SIGTERM');
		assert.equal(code, 0, stderr);
		assert.ok(performance.now() - beganMs >= 350);
	});

for (const signal of ['SIGTERM', 'SIGINT'] as const)
	test(`${signal}: not ready at once, open for the delay, and each connection is told to close`, {
		skip: signal === 'SIGINT' && takesLong,
	}, async (t) => {
		const draining = await startWithDelay(t, `sqlite:${temporaryFolder(t)}`);
		const { server } = draining;
		const [kept, refused] = [await connectTo(t, server.url), await connectTo(t, server.url)];
		const before = await upload(kept, draining, 'before');
		assert.deepEqual([before.status, before.headers.get('connection')], [201, 'keep-alive']);

		server.child.kill(signal);
		await withinASecond('draining', async () => (await readiness(server)) === '{"status":"draining"}');
		assert.equal((await fetch(`${server.url}/healthz`)).status, 200, 'it is alive');

		const onKept = await upload(kept, draining, 'on a kept connection');
		assert.deepEqual([onKept.status, onKept.headers.get('connection')], [201, 'close']);
		await kept.closed;
		const onNew = await upload(await connectTo(t, server.url), draining, 'on a new connection');
		assert.deepEqual([onNew.status, onNew.headers.get('connection')], [201, 'close']);
		const wrongKey = await upload(refused, { ...draining, key: 'no such key' }, 'never');
		assert.deepEqual([wrongKey.status, wrongKey.headers.get('connection')], [403, 'close']);

		await server.kill('SIGTERM');
		assert.deepEqual(await draining.stored(), ['before', 'on a kept connection', 'on a new connection']);
	});

test('HTTP/2: streams in flight are answered during the delay, and the client opens no new ones', {
	skip: takesLong,
}, async (t) => {
	const { server, aid, key, stored } = await startWithDelay(
		t,
		`sqlite:${temporaryFolder(t)}`,
		'--self-signed',
	);
	const session = connectHttp2(server.url, { rejectUnauthorized: false });
	t.after(() => session.destroy());
	await once(session, 'connect');
	const begin = () =>
		session.request({
			':method': 'POST',
			':path': '/subscription',
			'x-api-key': key,
			'content-type': 'application/json',
			expect: '100-continue',
		});
	const first = begin();
	await once(first, 'continue');
	server.child.kill('SIGTERM');
	await withinASecond('it has begun to stop', () => server.stderr.includes('"stopping"'));
	// The second is on its way before the client can know: whatever the server says of the first, both are answered.
	const goaway = once(session, 'goaway');
	const second = begin();
	await once(second, 'continue');
	const [code] = await goaway;
	assert.equal(code, 0);
	assert.equal(session.closed, true, 'no more streams');
	for (const [stream, tid] of [
		[first, 'first'],
		[second, 'second'],
	] as const) {
		stream.end(JSON.stringify({ aid, data: [event({ tid })] }));
		const [headers] = await once(stream, 'response');
		assert.equal(headers[':status'], 201);
		stream.resume();
	}
	await server.kill('SIGTERM');
	assert.deepEqual((await stored()).sort(), ['first', 'second']);
});

test('every worker reports that it is draining, and accepts uploads until the delay is over', {
	skip: takesLong,
}, async (t) => {
	const draining = await startWithDelay(t, await installedPostgresDatabase(), '--workers', '2');
	const { server } = draining;
	server.child.kill('SIGTERM');
	await withinASecond('all are draining', async () => {
		const asked = await Promise.all(Array.from({ length: 4 }, () => readiness(server)));
		return asked.every((answer) => answer === '{"status":"draining"}');
	});
	const tids = ['a', 'b', 'c', 'd'];
	for (const tid of tids)
		assert.equal((await upload(await connectTo(t, server.url), draining, tid)).status, 201);
	await server.kill('SIGTERM');
	assert.deepEqual((await draining.stored()).sort(), tids);
});

test('a second signal ends the server without waiting for the delay', { skip: takesLong }, async (t) => {
	const { server } = await startWithDelay(t, `sqlite:${temporaryFolder(t)}`);
	server.child.kill('SIGTERM');
	await withinASecond('draining', async () => (await readiness(server)) === '{"status":"draining"}');
	// Else it would be killed long before the delay is over, and have no code.
	assert.equal((await server.kill('SIGTERM')).code, 1);
});

test('the delay is a whole number of milliseconds', async () => {
	for (const value of ['5s', '-1', '600001'])
		assertMisused(
			await caskadeWithin(['serve', '--drain-delay-ms', value]),
			/It must be a whole number from 0 to 600000\./,
		);
});
