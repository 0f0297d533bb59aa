/**
 * `npm run proof:uploads [UPLOADS] [ROWS]` sends many uploads at once. Some clients die in the middle of their body or before
 * the answer. Then it compares what was acknowledged with what is stored. The other way round, a server dies several times
 * while `caskade upload` and `uploadAll` send ROWS events each. `test/uploads-killed.test.ts` is the short form.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { Caskade } from '../../client/src/index.ts';
import { openStore } from '../../src/assembly/open-store.ts';
import { subscriptionEvents } from '../../src/core/store/account/reading/stored-events.ts';
import { eventually } from '../eventually.ts';
import { mainPath, ServeProcess, TestProcess } from '../process.ts';
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

export interface ServerKilled {
	readonly kills: number;
	/** Events that were sent again, because the answer was lost. */
	readonly repeated: number;
	/** How often the client tried again. */
	readonly retries: number;
	/** What `caskade upload` told while it waited. */
	readonly told: string;
}

/** Kills the server while two clients upload. @throws AssertionError unless everything is stored once, and they succeed */
export async function serverKilled(options: {
	folder: string;
	rows: number;
	kills: number;
	awayMs: number;
}): Promise<ServerKilled> {
	const { folder, rows, kills, awayMs } = options;
	const address = `sqlite:${join(folder, 'data')}`;
	const store = await openStore(address);
	// So that each client takes a second for each kill, and another one.
	const ratePerSecond = Math.ceil(rows / 30 / (kills + 1));
	const { aid, key, client, planName } = await addClient(store, { plan: { ratePerSecond, burst: 1 } });
	const { key: otherKey } = await store.control.issueKey(client, planName);
	const path = join(folder, 'events.csv');
	const row = (number: number) => `file-${number},sub-${number},newsletter`;
	writeFileSync(
		path,
		`tid,subid,evt\n${Array.from({ length: rows }, (_, number) => row(number)).join('\n')}\n`,
	);
	let server = await ServeProcess.start(['--database', address]);
	try {
		const { id } = await store.control.account(aid);
		const stored = () => Array.fromAsync(subscriptionEvents(store, id));
		const args = ['upload', path, '--url', server.url, '--aid', aid];
		await using command = new TestProcess(process.execPath, [mainPath, ...args], { CASKADE_KEY: key });
		await eventually('the command uploads', () => existsSync(`${path}.progress`), 60_000);
		let retries = 0;
		const uploaded = new Caskade({ url: server.url, apiKey: otherKey }).subscriptions.uploadAll(
			aid,
			Array.from({ length: rows }, (_, number) => ({
				tid: `client-${number}`,
				subid: 's',
				evt: 'newsletter',
			})),
			{ onRetry: () => retries++ },
		);
		for (let kill = 1; kill <= kills; kill++) {
			const aim = (rows * kill) / (kills + 1);
			const hasCome = async () => {
				const ofFile = (await stored()).filter(({ tid }) => tid.startsWith('file-')).length;
				return ofFile >= aim && (await stored()).length - ofFile >= aim;
			};
			await eventually(`each has sent ${aim} events`, hasCome, 60_000);
			await server.kill('SIGKILL');
			const { port } = server;
			await setTimeout(awayMs);
			server = await ServeProcess.start(['--database', address, '--port', String(port)]);
		}
		const { code, stderr } = await command.ended;
		assert.equal(code, 0, stderr);
		const summary = await uploaded;
		assert.deepEqual(
			[summary.stored + summary.duplicates, summary.conflicts, summary.rejected],
			[rows, 0, 0],
		);
		const tids = (await stored()).map(({ tid }) => tid);
		assert.equal(tids.length, 2 * rows);
		assert.equal(new Set(tids).size, 2 * rows);
		const report = readFileSync(`${path}.report.csv`, 'utf8');
		const repeated = summary.duplicates + (report.match(/,duplicate,/g)?.length ?? 0);
		// Sixteen requests of the command and four of the client are in flight at most.
		assert.ok(repeated <= kills * 20 * 30, `${repeated} were sent again`);
		const told = /^no answer since \d+ s .*$/m.exec(stderr)?.[0] ?? '';
		return { kills, repeated, retries, told };
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
		const rows = Number(process.argv[3] ?? 20_000);
		const away = join(folder, 'server');
		mkdirSync(away);
		const { kills, repeated, retries, told } = await serverKilled({
			folder: away,
			rows,
			kills: 3,
			awayMs: 4000,
		});
		console.log(
			`A server that was killed ${kills} times, for 4 s each, while two clients sent ${rows} events each: each event is ` +
				`stored once. ${repeated} were sent again, the client tried ${retries} times again, and the command told: ${told}.`,
		);
	} finally {
		rmSync(folder, { recursive: true });
	}
}
