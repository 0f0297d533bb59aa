/**
 * Sends requests at a given rate, whether or not earlier ones are answered: a slow server gets no relief, and what waits
 * for a connection waits on the clock. Latency counts from the moment a request was due. A process of its own; takes
 * what to do as JSON, prints what it saw as JSON.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import { clockMs } from './clock.ts';
import { type Messages, messageMaker, statusOf } from './messages.ts';

export interface OpenLoopInput {
	readonly url: string;
	readonly messages: Messages;
	readonly ratePerSecond: number;
	readonly warmUpSeconds: number;
	readonly seconds: number;
	readonly connections: number;
}

export interface OpenLoopResult {
	readonly answered: number;
	/** Answers with another status than they should have. */
	readonly other: number;
	readonly p50Ms: number;
	readonly p99Ms: number;
	/** How late this program itself noticed that requests were due; it is part of the latency. */
	readonly noticedLateP99Ms: number;
}

/** What is not answered so long after the end never will be. */
const patienceMs = 10_000;

const input: OpenLoopInput = JSON.parse(process.argv[2] as string);
const { hostname, port } = new URL(input.url);
const message = messageMaker(input.messages);
const expectedStart = `HTTP/1.1 ${statusOf(input.messages)} `;

const startAtMs = clockMs() + 200;
const countFromMs = startAtMs + input.warmUpSeconds * 1000;
const endAtMs = countFromMs + input.seconds * 1000;
const free: Connection[] = [];
/** When the requests were due that wait for a connection, from `nextWaiting` on: `shift` is slow on a long list. */
const waiting: number[] = [];
let nextWaiting = 0;
const latenciesMs: number[] = [];
const latenessesMs: number[] = [];
let sent = 0;
let answered = 0;
let other = 0;
let allSent = false;

/** A kept-alive connection with one request at a time. */
class Connection {
	readonly #socket: Socket;
	#received = '';
	#dueAtMs = 0;

	constructor(socket: Socket) {
		this.#socket = socket.setNoDelay().setEncoding('latin1');
		socket.on('data', (chunk) => this.#receive(String(chunk)));
		socket.on('close', () => fail('the server closed a connection'));
	}

	static async open(): Promise<Connection> {
		const socket = connect(Number(port), hostname);
		await once(socket, 'connect');
		return new Connection(socket);
	}

	send(dueAtMs: number): void {
		this.#dueAtMs = dueAtMs;
		sent++;
		this.#socket.write(message(sent), 'latin1');
	}

	#receive(chunk: string): void {
		this.#received += chunk;
		const headEnd = this.#received.indexOf('\r\n\r\n');
		if (headEnd < 0) return;
		const [, length] = /\r\ncontent-length: (\d+)/i.exec(this.#received) ?? [];
		if (length === undefined) fail('an answer has no content-length');
		if (this.#received.length < headEnd + 4 + Number(length)) return;
		answered++;
		if (!this.#received.startsWith(expectedStart)) other++;
		this.#received = '';
		if (this.#dueAtMs >= countFromMs) latenciesMs.push(clockMs() - this.#dueAtMs);
		const next = waiting[nextWaiting];
		if (next === undefined) free.push(this);
		else {
			nextWaiting++;
			this.send(next);
		}
		if (allSent) finishIfAnswered();
	}
}

function send(dueAtMs: number): void {
	if (dueAtMs >= countFromMs) latenessesMs.push(clockMs() - dueAtMs);
	const connection = free.pop();
	if (connection) connection.send(dueAtMs);
	else waiting.push(dueAtMs);
}

function fail(reason: string): never {
	process.stderr.write(`${reason}\n`);
	process.exit(1);
}

function finishIfAnswered(): void {
	if (answered < sent || nextWaiting < waiting.length) return;
	const result: OpenLoopResult = {
		answered,
		other,
		p50Ms: percentile(latenciesMs, 0.5),
		p99Ms: percentile(latenciesMs, 0.99),
		noticedLateP99Ms: percentile(latenessesMs, 0.99),
	};
	process.stdout.write(JSON.stringify(result), () => process.exit(0));
}

function percentile(values: readonly number[], share: number): number {
	const sorted = values.toSorted((a, b) => a - b);
	return sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN;
}

free.push(...(await Promise.all(Array.from({ length: input.connections }, () => Connection.open()))));
const metronome = new Worker(new URL('./metronome.ts', import.meta.url), {
	workerData: { ratePerSecond: input.ratePerSecond, startAtMs, endAtMs },
});
metronome.on('message', (due: number[] | null) => {
	if (due) return due.forEach(send);
	allSent = true;
	setTimeout(
		() => fail(`${sent - answered + waiting.length - nextWaiting} requests were never answered`),
		patienceMs,
	);
	finishIfAnswered();
});
