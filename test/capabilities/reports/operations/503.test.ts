import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { test } from 'node:test';
import { connectTo } from '../../../raw-http.ts';
import { openAccount } from '../../../shared-server.ts';
import { type ServedAccount, startService } from '../../../support.ts';

const busy = '{"message":"Service unavailable.","validationErrors":null}';

async function readKeyOf({ client, planName, store, directory }: ServedAccount): Promise<string> {
	const { key } = await store.control.issueKey(client, planName, { scope: 'read' });
	await directory.refresh();
	return key;
}

function ask({ url, aid }: ServedAccount, key: string): Promise<Response> {
	return fetch(`${url}/reports/coverage?aid=${aid}`, { headers: { 'x-api-key': key } });
}

const requestOf = ({ aid }: ServedAccount, key: string) =>
	`GET /reports/coverage?aid=${aid} HTTP/1.1\r\nhost: a\r\nx-api-key: ${key}\r\n\r\n`;

test('of a client one report is made and four wait; a fifth gets 503, and another client its turn', async (t) => {
	const [greedy, other] = [await openAccount(), await openAccount()];
	const [greedyKey, otherKey] = [await readKeyOf(greedy), await readKeyOf(other)];
	const connection = await connectTo(t, greedy.url);
	const making = once(process, 'worker');
	connection.send(requestOf(greedy, greedyKey).repeat(8));
	const answered: string[] = [];
	const greedyAnswers = (async () => {
		for (let count = 0; count < 8; count++) {
			const { status, body, headers } = await connection.answer();
			answered.push(`greedy ${status}`);
			if (status === 503) assert.deepEqual([body, headers.get('retry-after')], [busy, '1']);
		}
	})();
	// All eight have arrived together, and the first is being made.
	await making;
	const { status } = await ask(other, otherKey);
	answered.push(`other ${status}`);
	await greedyAnswers;
	assert.deepEqual(answered.toSorted(), [
		...new Array(5).fill('greedy 200'),
		...new Array(3).fill('greedy 503'),
		'other 200',
	]);
	assert.ok(answered.indexOf('other 200') < 4, answered.join(', '));
});

/** How many threads are started until the function has ended. */
async function threadsStarted(during: () => Promise<void>): Promise<number> {
	let count = 0;
	const onWorker = () => {
		count++;
	};
	process.on('worker', onWorker);
	await during();
	process.off('worker', onWorker);
	return count;
}

test('reports of a client that has gone are not made', async (t) => {
	const [gone, other] = [await openAccount(), await openAccount()];
	const [goneKey, otherKey] = [await readKeyOf(gone), await readKeyOf(other)];
	const count = await threadsStarted(async () => {
		const connection = await connectTo(t, gone.url);
		connection.send(requestOf(gone, goneKey).repeat(5));
		// The first is being made.
		await once(process, 'worker');
		connection.destroy();
		assert.equal((await ask(other, otherKey)).status, 200);
		assert.equal((await ask(gone, goneKey)).status, 200);
	});
	assert.ok(count < 2 + 5, `${count} reports begun`);
});

test('the same over HTTP/2', async (t) => {
	const service = await startService(t, { selfSigned: true });
	const key = await readKeyOf(service);
	const session = connectHttp2(service.url, { rejectUnauthorized: false });
	t.after(() => session.destroy());
	const request = () =>
		session
			.request({ ':path': `/reports/coverage?aid=${service.aid}`, 'x-api-key': key })
			.on('error', () => {});
	const streams = [request(), request(), request(), request(), request()];
	await once(process, 'worker');
	for (const stream of streams) stream.close();
	// The server answers this when it has seen them close. Until then it may have begun another.
	await new Promise<void>((resolve) => session.ping(() => resolve()));
	const count = await threadsStarted(async () => {
		const [headers] = await once(request().resume(), 'response');
		assert.equal(headers[':status'], 200);
	});
	assert.equal(count, 1);
});

test('a client that has closed only its half of the connection gets its report', async (t) => {
	const service = await openAccount();
	const connection = await connectTo(t, service.url);
	connection.send(requestOf(service, await readKeyOf(service)));
	connection.end();
	let answer = await connection.answer();
	// Meanwhile it is asked whether it is still there.
	while (answer.status === 102) answer = await connection.answer();
	assert.equal(answer.status, 200);
	await connection.closed;
});
