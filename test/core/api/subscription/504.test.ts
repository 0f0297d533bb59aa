import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually, patience } from '../../../eventually.ts';
import { takesLong } from '../../../quick.ts';
import { connectTo, type RawAnswer, uploadHead } from '../../../raw-http.ts';
import { openAccount } from '../../../shared-server.ts';
import { addClient, event, startService, type TestService } from '../../../support.ts';
import { slowDown } from '../../store/damage.ts';
import { isLocked, lockDatabase } from '../../store/other-program.ts';

const timedOut = '{"message":"Endpoint request timed out"}';
const accountFile = (service: TestService) => join(service.folder, 'accounts/1.sqlite');

function assertTimedOut({ status, headers, body }: RawAnswer): void {
	assert.equal(status, 504);
	assert.equal(body, timedOut);
	assert.equal(headers.get('content-type'), 'application/json; charset=utf-8');
	assert.match(headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/);
	assert.match(headers.get('ratelimit-policy') ?? '', /^"rate";q=\d+;w=1, "quota";q=\d+;w=\d+$/);
	assert.equal(headers.get('x-events-stored'), null);
}

/** What the log says of requests that timed out. */
function loggedTimeouts({ logged }: TestService): object[] {
	return logged
		.map((line) => JSON.parse(line))
		.filter(({ msg }) => msg === 'timed out')
		.map(({ operation, client, aid }) => ({ operation, client, aid }));
}

async function assertFetchTimedOut(answer: Response): Promise<void> {
	assertTimedOut({ status: answer.status, headers: answer.headers, body: await answer.text() });
}

/**
 * Uploads the tid `after` to the same account until it is stored, then returns the stored tids. Everything before is
 * decided by then.
 */
async function storedInTheEnd(service: TestService): Promise<string[]> {
	await eventually('it is stored', async () => {
		return (await service.upload({ aid: service.aid, data: [event({ tid: 'after' })] })).status === 201;
	});
	return (await service.stored()).map(({ tid }) => tid);
}

test('a body that arrives too slowly expires, and nothing of it is stored later', async (t) => {
	const service = await startService(t, { plan: { timeoutMs: 300 } });
	const body = JSON.stringify({ aid: service.aid, data: [event()] });
	const connection = await connectTo(t, service.url);
	const startedAt = performance.now();
	connection.send(uploadHead({ 'x-api-key': service.key, 'content-length': body.length }), body.slice(0, -1));
	assertTimedOut(await connection.answer());
	const elapsedMs = performance.now() - startedAt;
	assert.ok(elapsedMs > 290 && elapsedMs < 300 * patience, `answered after ${elapsedMs} ms`);
	// The account is not known yet.
	assert.deepEqual(loggedTimeouts(service), [
		{ operation: 'uploadSubscription', client: 'acme', aid: undefined },
	]);
	connection.send(body.slice(-1));
	assert.deepEqual(await storedInTheEnd(service), ['after']);
});

test('a body that never follows "100 Continue" expires', async (t) => {
	const service = await startService(t, { plan: { timeoutMs: 200 } });
	const connection = await connectTo(t, service.url);
	connection.send(uploadHead({ 'x-api-key': service.key, 'content-length': 100, expect: '100-continue' }));
	assert.equal((await connection.answer()).status, 100);
	assertTimedOut(await connection.answer());
});

test('a body that never ends is cut off', async (t) => {
	const service = await startService(t, { plan: { timeoutMs: 200 } });
	const connection = await connectTo(t, service.url);
	connection.send(uploadHead({ 'x-api-key': service.key, 'content-length': 100_000 }));
	const trickle = setInterval(() => connection.send(' '), 20);
	t.after(() => clearInterval(trickle));
	assertTimedOut(await connection.answer());
	await connection.closed;
});

test('a body refused after its deadline gets no second answer', async (t) => {
	const service = await startService(t, { plan: { timeoutMs: 800 } });
	const connection = await connectTo(t, service.url);
	connection.send(uploadHead({ 'x-api-key': service.key, 'transfer-encoding': 'chunked' }));
	const answer = await connection.answer();
	assertTimedOut(answer);
	// It says so before it closes the connection, or a client could send its next request then.
	assert.equal(answer.headers.get('connection'), 'close');
	connection.send('1\r\n{\r\n0\r\n\r\n');
	await connection.closed;
	await assert.rejects(connection.answer(), /received: $/);
});

/** A deadline that so many uploads at once keep on this machine, as busy as it is, while nothing is stuck. */
async function keptMs(count: number): Promise<number> {
	const { aid, upload } = await openAccount();
	const beganMs = performance.now();
	await Promise.all(Array.from({ length: count }, () => upload({ aid, data: [event()] })));
	return Math.max(300, Math.ceil(5 * (performance.now() - beganMs)));
}

test('a request expires while the store is stuck, and is not stored later', async (t) => {
	const timeoutMs = await keptMs(20);
	const service = await startService(t, { plan: { timeoutMs } });
	await using lock = await lockDatabase(accountFile(service));
	const startedAt = performance.now();
	const answers = await Promise.all(
		Array.from({ length: 20 }, (_, index) =>
			service.upload({ aid: service.aid, data: [event()], simulate: index % 2 === 0 }),
		),
	);
	const elapsedMs = performance.now() - startedAt;
	assert.ok(elapsedMs > timeoutMs - 10 && elapsedMs < timeoutMs * patience, `answered after ${elapsedMs} ms`);
	for (const answer of answers) await assertFetchTimedOut(answer);
	const timeout = { operation: 'uploadSubscription', client: 'acme', aid: service.aid };
	assert.deepEqual(loggedTimeouts(service), Array(20).fill(timeout));
	await lock.release();
	assert.deepEqual(await storedInTheEnd(service), ['after']);
});

test('a store stuck before the first upload of a key does not delay other accounts', async (t) => {
	const service = await startService(t, { plan: { timeoutMs: 1000 } });
	const other = await addClient(service.store, { client: 'globex', plan: { timeoutMs: 60_000 } });
	await service.server.directory.refresh();
	await using lock = await lockDatabase(accountFile(service));
	const stuck = service.upload({ aid: service.aid, data: [event()] });
	let uploads = 0;
	let whileStuck = 0;
	let isStuck = true;
	const others = (async () => {
		while (isStuck) {
			const answer = await service.upload({ aid: other.aid, data: [event()] }, { 'x-api-key': other.key });
			assert.equal(answer.status, 201);
			uploads++;
			if (isStuck) whileStuck++;
			await sleep(10);
		}
	})();
	await assertFetchTimedOut(await stuck);
	isStuck = false;
	await others;
	assert.equal((await service.stored(other.aid)).length, uploads);
	assert.ok(whileStuck > 0);
	await lock.release();
	assert.deepEqual(await storedInTheEnd(service), ['after']);
});

test('when the store continues, requests within their deadlines are stored, expired ones are not', async (t) => {
	const service = await startService(t, { plan: { timeoutMs: 200 } });
	const plan = await service.store.control.plan('plan-of-acme');
	await service.store.control.createPlan({ ...plan, name: 'patient', timeoutMs: 20_000 });
	const patient = await service.store.control.issueKey('acme', 'patient');
	await service.server.directory.refresh();
	await using lock = await lockDatabase(accountFile(service));
	const upload = (tid: string, headers = {}) =>
		service.upload({ aid: service.aid, data: [event({ tid })] }, headers);
	const [short, long] = [upload('short'), upload('long', { 'x-api-key': patient.key })];
	await assertFetchTimedOut(await short);
	await lock.release();
	assert.equal((await long).status, 201);
	assert.deepEqual(await storedInTheEnd(service), ['long', 'after']);
});

test('a slow statement is answered in time, and rolled back when it ends', { skip: takesLong }, async (t) => {
	const service = await startService(t, { plan: { timeoutMs: 250 } });
	slowDown(accountFile(service));
	// On a busy machine, the deadline may expire before the statement begins; then it never does.
	await eventually('answered while the statement goes on', async () => {
		const answer = await service.upload({ aid: service.aid, data: [event(), event({ tid: 'slow' })] });
		const goesOn = isLocked(accountFile(service));
		await assertFetchTimedOut(answer);
		return goesOn;
	});

	// Other uploads to the same account wait behind it, and are stored later.
	for (;;) {
		const next = await service.upload({ aid: service.aid, data: [event({ tid: 'next' })] });
		if (next.status === 201) break;
		await assertFetchTimedOut(next);
	}
	assert.deepEqual(await storedInTheEnd(service), ['next', 'after']);
});

test('a lease of quota that takes too long is answered in time', async (t) => {
	const service = await startService(t, { plan: { timeoutMs: 300 } });
	await using lock = await lockDatabase(join(service.folder, 'control.sqlite'));
	const body = JSON.stringify({ aid: service.aid, data: [event()] });
	const connection = await connectTo(t, service.url);
	connection.send(
		uploadHead({ 'x-api-key': service.key, 'content-length': body.length, expect: '100-continue' }),
		body,
	);
	assertTimedOut(await connection.answer());
	await lock.release();
	assert.deepEqual(await storedInTheEnd(service), ['after']);
});
