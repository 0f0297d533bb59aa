/**
 * `npm run proof:uploads [UPLOADS]` sends many uploads at once. Some clients die in the middle of their body or before the
 * answer. Then it compares what was acknowledged with what is stored. `test/uploads-killed.test.ts` is the short form.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { subscriptionEvents } from '../../src/store/account/reading/events.ts';
import { openStore } from '../../src/store/open.ts';
import { ServeProcess } from '../process.ts';
import { uploadHead } from '../raw-http.ts';
import { addClient } from '../support.ts';

/** How clients end: after the answer, after half of the body, or after the body but before the answer. */
const endings = ['answered', 'killed half-way', 'answered', 'killed unanswered'] as const;

export interface KilledUploads {
	readonly acknowledged: number;
	readonly killedHalfWay: number;
	readonly killedUnanswered: number;
	/** How many of `killedUnanswered` were stored. */
	readonly storedUnanswered: number;
}

interface Sent {
	readonly tids: readonly string[];
	readonly ending: (typeof endings)[number];
	status: number | undefined;
}

/** Closes the connection with FIN or RST. A dying client may do either. */
function kill(socket: Socket, number: number): void {
	if (number % 8 < 4) socket.destroy();
	else socket.resetAndDestroy();
}

async function send(server: ServeProcess, key: string, aid: string, number: number): Promise<Sent> {
	const tids = Array.from({ length: 1 + (number % 30) }, (_, index) => `U-${number}-${index}`);
	const ending = endings[number % endings.length] as Sent['ending'];
	const body = JSON.stringify({ aid, data: tids.map((tid) => ({ tid, subid: tid, evt: 'newsletter' })) });
	const head = uploadHead({ 'x-api-key': key, 'content-length': body.length, connection: 'close' });
	const socket = connect(server.port, '127.0.0.1');
	const sent: Sent = { tids, ending, status: undefined };
	await once(socket, 'connect');
	const closed = new Promise((resolve) => socket.once('close', resolve));
	socket.on('error', () => {});
	if (ending === 'answered') {
		let text = '';
		socket.setEncoding('latin1').on('data', (piece) => {
			text += piece;
		});
		socket.write(head + body);
		await closed;
		sent.status = Number(text.split(' ')[1]);
	} else {
		const cut = ending === 'killed half-way' ? Math.floor(body.length / 2) : body.length;
		socket.write(head + body.slice(0, cut), () => kill(socket, number));
		await closed;
	}
	return sent;
}

/** Sends the uploads to a new data folder. @throws AssertionError if what is stored contradicts the answers */
export async function uploadsKilled(options: { folder: string; uploads: number }): Promise<KilledUploads> {
	const address = `sqlite:${join(options.folder, 'data')}`;
	const store = await openStore(address);
	const { aid, key } = await addClient(store);
	const server = await ServeProcess.start(['--database', address]);
	try {
		const numbers = Array.from({ length: options.uploads }, (_, number) => number);
		const all = await Promise.all(numbers.map((number) => send(server, key, aid, number)));
		// The server survives, still answers, and finishes what it has begun.
		const last = { tid: 'last', subid: 'last', evt: 'newsletter' };
		assert.equal((await server.upload(key, { aid, data: [last] })).status, 201);
		const { code, stderr } = await server.kill('SIGTERM');
		assert.equal(code, 0);
		assert.doesNotMatch(stderr, /"level":"(error|fatal)"/, 'a client that dies is no error of the server');

		const { id } = await store.control.account(aid);
		const events = await Array.fromAsync(subscriptionEvents(store, id));
		const stored = new Set(events.map(({ tid }) => tid));
		let storedUnanswered = 0;
		let expected = 1;
		for (const { tids, ending, status } of all) {
			const found = tids.filter((tid) => stored.has(tid)).length;
			if (ending === 'answered') assert.deepEqual({ status, found }, { status: 201, found: tids.length });
			else if (ending === 'killed half-way') assert.equal(found, 0, `${tids[0]} was never whole`);
			else assert.ok(found === 0 || found === tids.length, `${tids[0]} is torn`);
			if (ending === 'killed unanswered' && found > 0) storedUnanswered++;
			expected += found;
		}
		assert.equal(events.length, expected, 'each is stored once, and nothing else is');
		const count = (ending: Sent['ending']) => all.filter((sent) => sent.ending === ending).length;
		return {
			acknowledged: count('answered'),
			killedHalfWay: count('killed half-way'),
			killedUnanswered: count('killed unanswered'),
			storedUnanswered,
		};
	} finally {
		await server.kill();
		await store.close();
	}
}

if (import.meta.main) {
	const folder = mkdtempSync(join(tmpdir(), 'caskade-uploads-'));
	try {
		const uploads = Number(process.argv[2] ?? 1000);
		const { acknowledged, killedHalfWay, killedUnanswered, storedUnanswered } = await uploadsKilled({
			folder,
			uploads,
		});
		console.log(
			`${uploads} uploads at once: ${acknowledged} acknowledged, all of them stored; ${killedHalfWay} killed ` +
				`half-way through their body, none of them stored; ${killedUnanswered} killed before their answer, ` +
				`${storedUnanswered} of them stored, all whole.`,
		);
	} finally {
		rmSync(folder, { recursive: true });
	}
}
