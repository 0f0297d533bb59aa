import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { eventually } from '../../eventually.ts';
import { mainPath, ServeProcess, TestProcess } from '../../process.ts';
import { takesLong } from '../../quick.ts';
import { addClient, event, temporaryFolder } from '../../support.ts';
import { openStore } from '../../whole.ts';

const handles = 96;
const accounts = 12;

/** Asks over one connection, which stays open. */
async function ask(agent: Agent, url: string, body?: object, key = ''): Promise<string> {
	const headers = { 'content-type': 'application/json', 'x-api-key': key };
	const sent = request(url, { agent, method: body ? 'POST' : 'GET', headers: body ? headers : {} });
	sent.end(body && JSON.stringify(body));
	const [answer] = await once(sent, 'response');
	const text = (await answer.setEncoding('utf8').toArray()).join('');
	return `${answer.statusCode} ${text}`;
}

test('connections that take all file handles do not stop the server: /readyz reports it, and it recovers', {
	skip: takesLong || !existsSync('/bin/sh'),
}, async (t) => {
	const address = `sqlite:${temporaryFolder(t)}`;
	const store = await openStore(address);
	const clients = [];
	for (let number = 0; number < accounts; number++)
		clients.push(await addClient(store, { client: `client-${number}` }));
	await store.close();
	const serve = ['serve', '--port', '0', '--database', address];
	const limited = ['-c', `ulimit -n ${handles}; exec "$0" "$@"`, process.execPath, mainPath, ...serve];
	await using server = new TestProcess('/bin/sh', limited);
	const url = (await server.printed(/serves at (http:\S+) /))[1] as string;
	using kept = new KeptAgent();
	const upload = ({ aid, key }: { aid: string; key: string }) =>
		ask(kept, `${url}/subscription`, { aid, data: [event()] }, key);
	const [first, second, ...others] = clients;
	assert.ok(first && second);
	assert.match(await upload(first), /^201/);
	await eventually('ready', async () => (await ask(kept, `${url}/readyz`)) === '200 {"status":"ready"}');

	const flood: Socket[] = [];
	await eventually('not ready', async () => {
		for (let number = 0; number < 20; number++)
			flood.push(connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {}));
		return (await ask(kept, `${url}/readyz`)) === '503 {"status":"no file handles left"}';
	});
	// A waiting connection may take a handle that has just been freed, so this may need another attempt.
	await eventually('an account that is open is served on', async () => /^201/.test(await upload(first)));
	await eventually('an account that was not open takes the place of another', async () =>
		/^201/.test(await upload(second)),
	);
	assert.match(await ask(kept, `${url}/healthz`), /^200/);

	for (const socket of flood) socket.destroy();
	// A connection that arrives before handles are free is closed.
	await eventually('ready', async () => (await fetch(`${url}/readyz`).catch(() => null))?.status === 200);
	for (const client of [first, second, ...others]) assert.match(await upload(client), /^201/);
});

test('a server does not start where it may open too few files', {
	skip: existsSync('/bin/sh') ? false : 'the limit is set by a shell',
}, async (t) => {
	const serve = ['serve', '--port', '0', '--database', `sqlite:${temporaryFolder(t)}`];
	const limited = ['-c', 'ulimit -n 64; exec "$0" "$@"', process.execPath, mainPath, ...serve];
	await using server = new TestProcess('/bin/sh', limited);
	const { code, stderr } = await server.ended;
	assert.equal(code, 1);
	assert.match(
		stderr,
		/^caskade: Only 64 files may be open at a time here, and a server needs at least 96\. /,
	);
});

test('accounts of all writer threads take turns where file handles suffice for one of them, and for no thread more', {
	skip: takesLong || !existsSync('/usr/bin/prlimit'),
}, async (t) => {
	const address = `sqlite:${temporaryFolder(t)}`;
	const store = await openStore(address);
	const clients: { aid: string; key: string }[] = [];
	for (let number = 0; number < 4; number++)
		clients.push(await addClient(store, { client: `client-${number}` }));
	await store.close();
	await using server = await ServeProcess.start(['--database', address]);
	using kept = new KeptAgent();
	const upload = ({ aid, key }: { aid: string; key: string }) =>
		ask(kept, `${server.url}/subscription`, { aid, data: [event()] }, key);
	const [first, ...others] = clients;
	assert.ok(first);
	assert.match(await upload(first), /^201/);
	const { pid } = server.child;
	const used = () => readdirSync(`/proc/${pid}/fd`).map(Number);
	const threads = (name: string) =>
		readdirSync(`/proc/${pid}/task`).filter(
			(id) => readFileSync(`/proc/${pid}/task/${id}/comm`, 'utf8').trim() === name,
		).length;
	await eventually('all threads run', () => threads('background') === 1);
	// That of the control database, and of the account that was written to.
	assert.equal(threads('writer'), 2);
	let before = 0;
	await eventually('nobody opens anything any more', () => {
		const isSame = used().length === before;
		before = used().length;
		return isSame;
	});
	const limit = Math.max(...used()) + 1;
	execFileSync('/usr/bin/prlimit', ['--pid', String(pid), `--nofile=${limit}:`]);
	const idle: Socket[] = [];
	t.after(() => idle.forEach((socket) => void socket.destroy()));
	// No more than fit, because those that wait would take what is given back.
	for (let free = limit - used().length; free > 0; free--)
		idle.push(connect(server.port, '127.0.0.1').on('error', () => {}));
	await eventually('all handles are in use', () => used().length === limit);
	// On a busy machine, an upload may wait for longer than it is promised, and gets 500.
	for (const client of [...others, first, ...others])
		await eventually('its turn', async () => /^201/.test(await upload(client)));
	assert.equal(
		threads('writer'),
		2,
		'the thread of the control database has taken the place of those that cannot start',
	);
});

class KeptAgent extends Agent implements Disposable {
	constructor() {
		super({ keepAlive: true, maxSockets: 1 });
	}

	[Symbol.dispose](): void {
		this.destroy();
	}
}
