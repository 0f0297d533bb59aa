import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { listenForConsole } from '../../../src/assembly/console/listen.ts';
import type { ConsoleAnswer } from '../../../src/kit/console/exchange.ts';
import { eventually } from '../../eventually.ts';
import { freePort } from '../../free-port.ts';
import { connectTo } from '../../raw-http.ts';

/** The console's port before pages of a test. @param bodyOf the page, at each time that it is asked for; empty for who is signed out */
async function start(t: TestContext, bodyOf: () => string) {
	const port = await freePort();
	const ofBody = (body: string) => ({ status: body === '' ? 303 : 200, body });
	const answer = async ({
		headers,
	}: {
		headers: { cookie?: string | undefined };
	}): Promise<ConsoleAnswer> => ({
		...ofBody(bodyOf()),
		headers: { 'content-type': 'text/html; charset=utf-8' },
		againAfterMs: 5,
		personId: headers.cookie ?? 'nobody',
	});
	const log = { error: () => {} } as never;
	const app = await listenForConsole({ host: '127.0.0.1', port, log, answer: answer as never });
	t.after(() => app.close());
	return port;
}

test('one person holds ten live pages at most, and others theirs meanwhile', async (t) => {
	const port = await start(t, () => 'a page');
	/** What the first bytes of an answer say, of a connection that stays open. */
	const open = async (cookie: string): Promise<number> => {
		const client = connect(port, '127.0.0.1');
		t.after(() => client.destroy());
		client.write(`GET /console/live?of=/console/x/ HTTP/1.1\r\nhost: x\r\ncookie: ${cookie}\r\n\r\n`);
		const [bytes] = await once(client, 'data');
		return Number(String(bytes).split(' ')[1]);
	};
	const statuses: number[] = [];
	for (let count = 0; count < 13; count++) statuses.push(await open('ada'));
	assert.deepEqual(statuses, [...Array(10).fill(200), 429, 429, 429]);
	assert.equal(await open('bob'), 200);
});

test('a page whose session ends elsewhere is told', async (t) => {
	let asked = 0;
	const port = await start(t, () => (++asked < 4 ? `page ${asked}` : ''));
	const sent = await (await fetch(`http://127.0.0.1:${port}/console/live?of=/console/x/`)).text();
	assert.match(
		sent,
		/^data: page 1\n\ndata: page 2\n\ndata: page 3\n\nevent: end\ndata:<p class="warning" role="alert">.*signed out.*\n\n$/,
	);
});

test('a client that does not read is sent no more than fits, and no page is made for it', async (t) => {
	let made = 0;
	const port = await start(t, () => `${++made} ${'x'.repeat(1024 * 1024)}`);
	const client = connect(port, '127.0.0.1');
	t.after(() => client.destroy());
	client.pause();
	client.write('GET /console/live?of=/console/x/ HTTP/1.1\r\nhost: x\r\ncookie: ada\r\n\r\n');
	await eventually('a page is made', async () => made > 0);
	let before = -1;
	// What fits into the buffers of the system is made and sent.
	await eventually('no more is made', async () => {
		const isStill = made === before;
		before = made;
		await new Promise((resolve) => setTimeout(resolve, 200));
		return isStill && made === before;
	});
	assert.ok(made < 20, `${made} pages`);
});

test('a request with two hosts is refused', async (t) => {
	const port = await start(t, () => 'a page');
	const connection = await connectTo(t, `http://127.0.0.1:${port}`);
	connection.send('GET /console/ HTTP/1.1\r\nhost: a.example\r\nhost: b.example\r\n\r\n');
	assert.equal((await connection.answer()).status, 400);
});
