/**
 * `npm run proof:strangers [REQUESTS [SEED [ENGINE]]]` attacks two servers from outside, over HTTP/1.1, HTTPS and HTTP/2: with
 * requests of every operation that are broken at every level, with every credential that should not open a thing, with
 * clients that are slow, go away or never read. `test/strangers.test.ts` is the short form.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type ClientHttp2Session, connect as connectHttp2, constants } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { type ErrorCode, errorTable } from '../../src/core/errors.ts';
import { subscriptionEvents } from '../../src/core/store/account/reading/stored-events.ts';
import { createDatabase, startPostgres } from '../core/store/postgres/server.ts';
import { firstAnswer, type RawAnswer } from '../raw-http.ts';
import { Chance } from './chance.ts';
import { checkAccess } from './strangers-access.ts';
import { bytesOf, type Sent, strangeRequest } from './strangers-requests.ts';
import { ask, endWorld, startWorld, type World } from './strangers-world.ts';

/** A case that takes longer hangs. */
const caseMs = 30_000;

interface Tally {
	readonly statuses: Map<number, number>;
	/** Answers that were cut off: the connection was reset, or closed a second after something behind was not HTTP. */
	cut: number;
	/** What answers say was stored of the stranger's own events. */
	stored: number;
}

/** Whether a body is that of an error of the table. */
function isOfTable({ status, body }: RawAnswer): boolean {
	const { message, validationErrors, ...rest } = JSON.parse(body) as Record<string, unknown>;
	return (Object.keys(errorTable) as ErrorCode[]).some((code) => {
		const entry: {
			status: number;
			message: string;
			validationErrors: string | null | undefined;
			detail?: string;
		} = errorTable[code];
		const isText = typeof validationErrors === 'string' || validationErrors === null;
		return (
			entry.status === status &&
			Object.keys(rest).length === 0 &&
			(entry.detail === 'message' ? typeof message === 'string' : message === entry.message) &&
			(entry.detail === 'validationErrors' ? isText : validationErrors === entry.validationErrors)
		);
	});
}

/** What only the inside knows. */
const inside =
	/node_modules|\.ts:\d|at \w+ \(|SQLITE|SELECT |INSERT |Cannot read|is not a function|undefined/;

/** Checks an answer, whatever the request was. */
function judge(answer: RawAnswer, { secrets }: World, tally: Tally): void {
	const { status, headers, body } = answer;
	tally.statuses.set(status, (tally.statuses.get(status) ?? 0) + 1);
	if (status < 200) return;
	assert.match(headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/, 'x-request-id');
	const text = `${[...headers].join('\n')}\n${body}`;
	for (const secret of secrets) assert.ok(!text.includes(secret), `reveals ${secret}`);
	tally.stored += Number((status === 201 && headers.get('x-events-stored')) || 0);
	if (status < 400) return;
	const type = headers.get('content-type');
	if (type === 'image/gif') return;
	assert.equal(type, 'application/json; charset=utf-8');
	assert.doesNotMatch(body, inside);
	if (body !== '') assert.ok(isOfTable(answer), 'a body that is not in the table');
	assert.ok(status < 500 || status === 503 || status === 504, 'not a documented error');
	if (status === 503) assert.ok(headers.get('retry-after'));
}

async function open(world: World): Promise<Socket> {
	const { port, protocol } = new URL(world.server.url);
	const options = { host: '127.0.0.1', port: Number(port), allowHalfOpen: true };
	const isSecure = protocol === 'https:';
	const socket = isSecure ? connectTls({ ...options, rejectUnauthorized: false }) : connect(options);
	socket.on('error', () => {});
	await once(socket, isSecure ? 'secureConnect' : 'connect');
	return socket;
}

/** Sends what a case has, in one of several ways, and collects everything that comes back. */
async function exchange(
	world: World,
	{ bytes }: Sent,
	chance: Chance,
): Promise<{ received: string; isReset: boolean; isAborted: boolean }> {
	const socket = await open(world);
	let received = '';
	let isReset = false;
	socket.setEncoding('latin1').on('data', (text) => {
		received += text;
	});
	socket.on('error', () => {
		isReset = true;
	});
	const closed = new Promise<'closed'>((resolve) => {
		socket.once('close', () => resolve('closed'));
		socket.once('end', () => socket.end());
	});
	const isAborted = chance.is(0.08);
	const pieces = chance.is(0.85) ? 1 : Math.min(bytes.length, 2 + chance.below(20));
	if (pieces === 1) socket.write(bytes);
	else {
		for (let piece = 0; piece < pieces && !socket.destroyed; piece++) {
			socket.write(
				bytes.subarray(
					Math.floor((piece * bytes.length) / pieces),
					Math.floor(((piece + 1) * bytes.length) / pieces),
				),
			);
			await delay(chance.below(3));
		}
	}
	if (isAborted) {
		await delay(chance.below(4));
		if (chance.is(0.5) && !('encrypted' in socket)) socket.resetAndDestroy();
		else socket.destroy();
	} else socket.end();
	const late = new AbortController();
	const ended = await Promise.race([closed, delay(caseMs, 'hangs' as const, { signal: late.signal })]);
	late.abort();
	socket.destroy();
	assert.equal(ended, 'closed', `no end after ${caseMs} ms; received ${received.slice(0, 500)}`);
	return { received, isReset, isAborted };
}

/** One connection of HTTP/1.1 with one strange request or several. */
async function strangeConnection(world: World, chance: Chance, tally: Tally): Promise<void> {
	const sent = bytesOf(world, chance);
	try {
		const { received, isReset, isAborted } = await exchange(world, sent, chance);
		let rest = received;
		let answers = 0;
		while (rest !== '') {
			const taken = firstAnswer(rest, true);
			if (!taken.answer) break;
			judge(taken.answer, world, tally);
			if (taken.answer.status >= 200) answers++;
			rest = taken.rest;
		}
		if (rest !== '') {
			assert.ok(
				isReset || isAborted || !sent.isIntact || sent.requests > 1,
				`half an answer: ${rest.slice(0, 300)}`,
			);
			tally.cut++;
		}
		if (sent.isIntact) {
			assert.ok(answers <= sent.requests || !sent.isFramed, `${answers} answers`);
			if (!isAborted && !isReset) assert.ok(answers > 0, 'no answer');
		}
	} catch (error) {
		const shown =
			sent.bytes.length > 3000
				? `${sent.bytes.subarray(0, 3000).toString('latin1')}…`
				: sent.bytes.toString('latin1');
		throw new Error(`${(error as Error).message}\nof: ${JSON.stringify(shown)}`, { cause: error });
	}
}

async function openSession(world: World): Promise<ClientHttp2Session> {
	const session = connectHttp2(world.server.url, { rejectUnauthorized: false });
	session.on('error', () => {});
	await once(session, 'connect');
	return session;
}

/** Strange requests on sessions of HTTP/2. What that does not allow is reset, or ends the session. */
async function strangeStreams(world: World, chance: Chance, tally: Tally, count: number): Promise<void> {
	let session = await openSession(world);
	for (let index = 0; index < count; index++) {
		if (session.closed || session.destroyed) session = await openSession(world);
		await Promise.all(
			Array.from({ length: chance.pick([1, 1, 4]) }, () => strangeStream(session, world, chance, tally)),
		);
	}
	session.destroy();
}

async function strangeStream(
	session: ClientHttp2Session,
	world: World,
	chance: Chance,
	tally: Tally,
): Promise<void> {
	const { method, target, headers, body } = strangeRequest(world, chance);
	const fields: Record<string, string> = { ':method': method, ':path': target };
	for (const [name, value] of headers)
		if (
			/^[a-z-]+$/.test(name) &&
			!/^(connection|upgrade|host|te|transfer-encoding|http2-settings|proxy-connection)$/.test(name)
		)
			fields[name] = value;
	const isAborted = chance.is(0.1);
	let answer: RawAnswer | undefined;
	try {
		const stream = session.request(fields, { endStream: !body });
		const chunks: Buffer[] = [];
		stream.on('error', () => {});
		stream.on('response', ({ ':status': status, ...rest }) => {
			const texts = Object.entries(rest).map(([name, value]): [string, string] => [name, String(value)]);
			answer = { status: Number(status), headers: new Headers(texts), body: '' };
		});
		stream.on('data', (chunk: Buffer) => chunks.push(chunk));
		const closed = new Promise<'closed'>((resolve) => stream.once('close', () => resolve('closed')));
		if (body) stream.end(body);
		if (isAborted) stream.close(chance.below(14));
		const late = new AbortController();
		const ended = await Promise.race([closed, delay(caseMs, 'hangs' as const, { signal: late.signal })]);
		late.abort();
		// Node never closes a stream that was cancelled before it was sent.
		if (isAborted && stream.state?.state === constants.NGHTTP2_STREAM_STATE_IDLE) return;
		const seen = `${answer?.status ?? 'not'} answered, ${isAborted ? '' : 'not '}aborted`;
		assert.equal(ended, 'closed', `the stream does not end: ${seen}, ${JSON.stringify(stream.state)}`);
		if (answer && !isAborted) judge({ ...answer, body: Buffer.concat(chunks).toString() }, world, tally);
	} catch (error) {
		// This end does not send it.
		if (/^ERR_(HTTP2|INVALID)/.test((error as NodeJS.ErrnoException).code ?? '')) return;
		throw new Error(
			`${(error as Error).message}\nof: ${JSON.stringify({ fields, body: body?.toString('latin1').slice(0, 2000) })}`,
			{ cause: error },
		);
	}
}

/** RFC 9113, 4.1. */
function frame(type: number, flags: number, streamId: number, payload: Uint8Array = Buffer.alloc(0)): Buffer {
	const head = Buffer.alloc(9);
	head.writeUIntBE(payload.length, 0, 3);
	head.writeUInt8(type, 3);
	head.writeUInt8(flags, 4);
	head.writeUInt32BE(streamId, 5);
	return Buffer.concat([head, payload]);
}

const preface = Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(4, 0, 0)]);
// GET, /, https; the authority is `a`.
const getRoot = Buffer.from([0x82, 0x84, 0x87, 0x41, 1, 0x61]);

/** What ends, or should end, a connection of HTTP/2. */
function hostileFrames(chance: Chance): Buffer {
	const many = (count: number, make: (index: number) => Buffer) =>
		Buffer.concat(Array.from({ length: count }, (_, index) => make(index)));
	const noise = (length: number) => Buffer.from(Array.from({ length }, () => chance.below(256)));
	const word = (value: number) =>
		Buffer.from([value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255]);
	return chance.pick([
		() =>
			many(2000, (index) =>
				Buffer.concat([frame(1, 5, 2 * index + 1, getRoot), frame(3, 0, 2 * index + 1, word(8))]),
			),
		() => many(5000, () => frame(4, 0, 0)),
		() => many(5000, () => frame(6, 0, 0, noise(8))),
		() => Buffer.concat([frame(1, 1, 1, getRoot), many(2000, () => frame(9, 0, 1, noise(64)))]),
		() => many(200, (index) => frame(1, 4, 2 * index + 1, getRoot)),
		() => Buffer.concat([frame(1, 4, 1, getRoot), many(20_000, () => frame(0, 0, 1))]),
		() => frame(8, 0, 0, word(0x7fffffff)),
		() => frame(8, 0, 1, word(0)),
		() => frame(0, 0, 7, noise(10)),
		() => frame(5, 4, 1, noise(20)),
		() => frame(2, 0, 1, Buffer.concat([word(1), noise(1)])),
		() => frame(4, 0, 0, Buffer.from([0, 4, 255, 255, 255, 255])),
		() => frame(4, 0, 0, many(3000, () => Buffer.from([0, 1, 0, 0, 0, 0])).subarray(0, 16_380)),
		() => Buffer.from([255, 255, 255, 0, 0, 0, 0, 0, 1]),
		() => frame(1, 5, 1, noise(100)),
		() => frame(1, 5, 2, getRoot),
		() => Buffer.concat([frame(1, 5, 5, getRoot), frame(1, 5, 3, getRoot)]),
		() => frame(7, 0, 0, noise(20)),
		() =>
			many(50, () => frame(chance.below(256), chance.below(256), chance.below(20), noise(chance.below(60)))),
		() => noise(500),
	])();
}

async function hostileSession(world: World, chance: Chance): Promise<void> {
	const socket = connectTls({
		host: '127.0.0.1',
		port: world.server.port,
		rejectUnauthorized: false,
		ALPNProtocols: ['h2'],
	});
	socket.on('error', () => {}).resume();
	await once(socket, 'secureConnect');
	socket.write(chance.is(0.95) ? preface : Buffer.from('PRI * HTTP/2.0\r\n\r\nXX'));
	socket.write(hostileFrames(chance));
	await Promise.race([once(socket, 'close'), delay(500)]);
	socket.destroy();
}

/** Connections that never finish their request, or never read their answers. They are left open until this ends. */
async function lingering(world: World, count: number): Promise<Socket[]> {
	return Promise.all(
		Array.from({ length: count }, async (_, index) => {
			const socket = await open(world);
			const { pathname } = new URL(world.server.url);
			const base = pathname.replace(/\/$/, '');
			if (index % 2 === 0) socket.write(`POST ${base}/hit HTTP/1.1\r\nhost: a\r\nx: `);
			else {
				socket.pause();
				socket.write(`GET ${base}/docs/api/swagger-ui-bundle.js HTTP/1.1\r\nhost: a\r\n\r\n`.repeat(50));
			}
			return socket;
		}),
	);
}

/** Resident memory of a process, in MiB. */
function residentMiB({ server }: World): number {
	if (server.child.exitCode !== null) return 0;
	const [, kib] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.child.pid}/status`, 'utf8')) ?? [];
	return Math.round(Number(kib ?? 0) / 1024);
}

/** What an ordinary client gets, after all of it. */
async function checkOrder(world: World): Promise<void> {
	const { own, server } = world;
	const headers = { 'x-api-key': own.uploadKey };
	const data = [{ tid: `LAST-${Date.now()}`, subid: 'S', evt: 'newsletter' }];
	const answers = [
		await ask(server.url, 'POST /subscription', headers, { aid: own.aid, data }),
		await ask(server.url, `GET /subscription/OWN-TID?aid=${own.aid}`, headers),
		await ask(server.url, `GET /visscores?cask=${own.visitor.cask}`),
		await ask(server.url, `GET /reports/coverage?aid=${own.aid}`, { 'x-api-key': own.readKey }),
		await ask(server.url, 'POST /hit', { 'user-agent': 'Mozilla/5.0 Firefox/140.0' }, { aid: own.aid }),
		await ask(server.url, 'GET /readyz'),
	];
	assert.deepEqual(
		answers.map(({ status }) => status),
		[201, 200, 200, 200, 200, 200],
	);
}

/** What is stored of the other's is what it was, and of one's own at least what was acknowledged. */
async function checkStored({ store, own, other }: World, { stored }: Tally): Promise<void> {
	const eventsOf = async ({ aid }: { aid: string }) => {
		const { id } = await store.control.account(aid);
		return Array.fromAsync(subscriptionEvents(store, id));
	};
	assert.deepEqual(
		(await eventsOf(other)).map(({ tid }) => tid),
		['MARKER-OF-THE-OTHER-TID'],
	);
	const count = (await eventsOf(own)).length;
	assert.ok(count >= stored, `${stored} acknowledged, ${count} stored`);
}

/** Ends a server, and reads what it has logged. */
async function checkLog({ server, unlogged }: World): Promise<number> {
	const { code, stderr } = await server.kill('SIGTERM');
	assert.equal(code, 0);
	const lines = stderr.trimEnd().split('\n');
	for (const line of lines) {
		assert.ok(line.startsWith('{'), `not a line of the log: ${line}`);
		const { level } = JSON.parse(line);
		assert.ok(level !== 'error' && level !== 'fatal', line);
		for (const secret of unlogged) assert.ok(!line.includes(secret), `${line} has ${secret}`);
	}
	return lines.length;
}

export interface Survived {
	readonly seed: number;
	readonly accessChecks: number;
	readonly answers: Readonly<Record<number, number>>;
	readonly cut: number;
	readonly hostileSessions: number;
	readonly logLines: number;
	/** At the start, and the most. */
	readonly memoryMiB: readonly [start: number, most: number];
}

/** Most memory that a server may take, however it is asked. */
const maxMemoryMiB = 600;

/**
 * Attacks two servers.
 * @param options.requests how many strange requests, about; a quarter over HTTP/2
 * @throws AssertionError if one of them gives way
 */
export async function strangers(options: {
	/** Of two empty databases. */
	addresses: readonly [string, string];
	requests: number;
	seed: number;
}): Promise<Survived> {
	const { addresses, requests, seed } = options;
	const plain = await startWorld(addresses[0]);
	const secure = await startWorld(addresses[1], ['--stage', 'staging', '--self-signed']);
	const worlds = [plain, secure];
	const tally: Tally = { statuses: new Map(), cut: 0, stored: 0 };
	const tallies = [tally, { ...tally, stored: 0 }];
	const startMiB = Math.max(...worlds.map(residentMiB));
	let mostMiB = startMiB;
	const sampling = setInterval(() => {
		mostMiB = Math.max(mostMiB, ...worlds.map(residentMiB));
	}, 200);
	try {
		const checked = await Promise.all([checkAccess(plain, secure), checkAccess(secure, plain)]);
		const accessChecks = checked[0] + checked[1];
		const lingerers = [...(await lingering(plain, 20)), ...(await lingering(secure, 20))];
		const lanes = 12;
		const hostileSessions = Math.ceil(requests / 100);
		const strange = async (lane: number) => {
			const chance = new Chance(seed * 1000 + lane);
			const share = Math.ceil(requests / lanes);
			if (lane % 4 === 3) await strangeStreams(secure, chance, tallies[1] as Tally, share);
			else
				for (let index = 0; index < share; index++) {
					const number = lane % 4 === 2 ? 1 : 0;
					await strangeConnection(worlds[number] as World, chance, tallies[number] as Tally);
				}
		};
		const hostile = async () => {
			const chance = new Chance(seed * 1000 + 999);
			for (let index = 0; index < hostileSessions; index++) await hostileSession(secure, chance);
		};
		await Promise.all([...Array.from({ length: lanes }, (_, lane) => strange(lane)), hostile()]);
		for (const world of worlds) await checkOrder(world);
		for (const socket of lingerers) socket.destroy();
		assert.ok(mostMiB <= maxMemoryMiB, `${mostMiB} MiB`);
		for (const [index, world] of worlds.entries()) await checkStored(world, tallies[index] as Tally);
		const logLines = (await checkLog(plain)) + (await checkLog(secure));
		const answers = Object.fromEntries([...tally.statuses].toSorted(([a], [b]) => a - b));
		const cut = tallies.reduce((sum, each) => sum + each.cut, 0);
		return { seed, accessChecks, answers, cut, hostileSessions, logLines, memoryMiB: [startMiB, mostMiB] };
	} finally {
		clearInterval(sampling);
		for (const world of worlds) await endWorld(world);
	}
}

if (import.meta.main) {
	const folder = mkdtempSync(`${tmpdir()}/caskade-strangers-`);
	const seed = Number(process.argv[3] ?? Math.floor(Math.random() * 1e6));
	console.log(`Seed ${seed}.`);
	const postgres = process.argv[4] === 'postgres' ? await startPostgres() : undefined;
	const addressOf = (name: string) => (postgres ? createDatabase(postgres) : `sqlite:${join(folder, name)}`);
	try {
		const addresses = [await addressOf('plain'), await addressOf('secure')] as const;
		const { accessChecks, answers, cut, hostileSessions, logLines, memoryMiB } = await strangers({
			addresses,
			seed,
			requests: Number(process.argv[2] ?? 20_000),
		});
		console.log(`${accessChecks} checks of access: nobody got in.`);
		const total = Object.values(answers).reduce((sum, count) => sum + count, 0);
		console.log(`${total} answers to strange requests, each as documented:`, answers);
		console.log(
			`${cut} answers were cut off as the connection closed; ${hostileSessions} hostile sessions of HTTP/2.`,
		);
		console.log(
			`Nothing secret in them, nor in ${logLines} lines of log. Memory: ${memoryMiB[0]} MiB at the start, ${memoryMiB[1]} at most.`,
		);
	} finally {
		await postgres?.stop();
		rmSync(folder, { recursive: true });
	}
}
