/**
 * An open-loop load generator: it sends requests at a given rate and does not wait for earlier answers. Latency is
 * measured from the time a request was due, including any wait for a free connection, so there is no coordinated omission.
 * Runs as a separate process that takes its input as JSON and prints its result as JSON.
 */

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import { clockMs } from './clock.ts';
import { percentile } from './percentile.ts';
import { expectedStatusOf, type RequestKind, requestMaker } from './requests.ts';

export interface OpenLoopInput {
	readonly url: string;
	readonly requests: RequestKind;
	readonly ratePerSecond: number;
	readonly warmUpSeconds: number;
	readonly seconds: number;
	readonly connections: number;
}

export interface OpenLoopResult {
	readonly answered: number;
	/** Answers with an unexpected status. */
	readonly unexpected: number;
	readonly p50Ms: number;
	readonly p99Ms: number;
	/** 99th percentile of the time from when a request was due until this program noticed. It is part of the latency. */
	readonly generatorDelayP99Ms: number;
}

/** Maximum wait for the last answers. */
const answerTimeoutMs = 10_000;

const input: OpenLoopInput = JSON.parse(process.argv[2] as string);
const { hostname, port } = new URL(input.url);
const requestText = requestMaker(input.requests);
const expectedStart = `HTTP/1.1 ${expectedStatusOf(input.requests)} `;

const startAtMs = clockMs() + 200;
const countFromMs = startAtMs + input.warmUpSeconds * 1000;
const endAtMs = countFromMs + input.seconds * 1000;
const freeConnections: Connection[] = [];
/** Due times of requests that wait for a connection, from index `nextWaiting` on. `shift` would be slow on a long list. */
const waiting: number[] = [];
let nextWaiting = 0;
const latenciesMs: number[] = [];
const generatorDelaysMs: number[] = [];
let sent = 0;
let answered = 0;
let unexpected = 0;
let allSent = false;

/** A keep-alive connection that carries one request at a time. */
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
		this.#socket.write(requestText(sent), 'latin1');
	}

	#receive(chunk: string): void {
		this.#received += chunk;
		const headEnd = this.#received.indexOf('\r\n\r\n');
		if (headEnd < 0) return;
		const [, length] = /\r\ncontent-length: (\d+)/i.exec(this.#received) ?? [];
		if (length === undefined) fail('an answer has no content-length');
		if (this.#received.length < headEnd + 4 + Number(length)) return;
		answered++;
		if (!this.#received.startsWith(expectedStart)) unexpected++;
		this.#received = '';
		if (this.#dueAtMs >= countFromMs) latenciesMs.push(clockMs() - this.#dueAtMs);
		const next = waiting[nextWaiting];
		if (next === undefined) freeConnections.push(this);
		else {
			nextWaiting++;
			this.send(next);
		}
		if (allSent) finishIfAnswered();
	}
}

function send(dueAtMs: number): void {
	if (dueAtMs >= countFromMs) generatorDelaysMs.push(clockMs() - dueAtMs);
	const connection = freeConnections.pop();
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
		unexpected,
		p50Ms: percentile(latenciesMs, 0.5),
		p99Ms: percentile(latenciesMs, 0.99),
		generatorDelayP99Ms: percentile(generatorDelaysMs, 0.99),
	};
	process.stdout.write(JSON.stringify(result), () => process.exit(0));
}

freeConnections.push(
	...(await Promise.all(Array.from({ length: input.connections }, () => Connection.open()))),
);
const arrivals = new Worker(new URL('./arrivals.ts', import.meta.url), {
	workerData: { ratePerSecond: input.ratePerSecond, startAtMs, endAtMs },
});
arrivals.on('message', (due: number[] | null) => {
	if (due) return due.forEach(send);
	allSent = true;
	setTimeout(
		() =>
			fail(
				`${sent - answered + waiting.length - nextWaiting} requests were not answered within ${answerTimeoutMs} ms`,
			),
		answerTimeoutMs,
	);
	finishIfAnswered();
});
