import { connect } from 'node:net';
import type { TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from './eventually.ts';

/** An answer as received. */
export interface RawAnswer {
	readonly status: number;
	readonly headers: Headers;
	readonly body: string;
}

/**
 * A connection that sends exactly the given bytes, which HTTP clients do not allow. Like any client, it closes when the
 * server has closed.
 */
export interface RawConnection {
	send(...pieces: (string | Uint8Array)[]): void;
	/** Waits for the next answer, including interim ones (`100 Continue`). @throws Error if the connection ends first */
	answer(): Promise<RawAnswer>;
	/** Closes the sending half of the connection. */
	end(): void;
	/** Closes the connection at once. */
	destroy(): void;
	/** Resolves when the server has closed the connection. */
	readonly closed: Promise<void>;
}

export async function connectTo(t: TestContext, url: string): Promise<RawConnection> {
	const { hostname, port } = new URL(url);
	const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true, noDelay: true });
	t.after(() => socket.destroy());
	let received = '';
	let ended = false;
	let wake = () => {};
	socket.setEncoding('latin1');
	socket.on('data', (text: string) => {
		received += text;
		wake();
	});
	const closed = new Promise<void>((resolve) => {
		const end = () => {
			ended = true;
			wake();
			resolve();
		};
		socket.once('end', () => {
			end();
			socket.destroy();
		});
		socket.once('close', end);
		socket.on('error', end);
	});
	await new Promise<void>((resolve) => socket.once('connect', resolve));
	return {
		send: (...pieces) => {
			for (const piece of pieces) socket.write(piece);
		},
		async answer() {
			for (;;) {
				const { answer, rest } = firstAnswer(received);
				if (answer) {
					received = rest;
					return answer;
				}
				if (ended) throw new Error(`the connection ended before an answer; received: ${received}`);
				await new Promise<void>((resolve) => {
					wake = resolve;
				});
			}
		},
		end: () => socket.end(),
		destroy: () => socket.destroy(),
		closed,
	};
}

/** After an answer, a server reads on until nothing has come for so long. */
const silenceMs = 1000;

/**
 * Sends a request whose body is written in twenty pieces, by a client that reads nothing before all of it is written, as
 * simple ones do. On a busy machine a pause may be longer than the server waits: then it is sent again.
 * @returns what was answered until the connection closed
 */
export async function answerToWriter(
	t: TestContext,
	url: string,
	head: string,
	bytes: number,
	{ pauseMs = 2 } = {},
): Promise<string> {
	let answer = '';
	await eventually('an answer to who writes without long pauses', async () => {
		let longestMs = 0;
		({ answer, longestMs } = await writeThenRead(t, url, head, bytes, pauseMs));
		return answer !== '' || longestMs < silenceMs / 2;
	});
	return answer;
}

async function writeThenRead(
	t: TestContext,
	url: string,
	head: string,
	bytes: number,
	pauseMs: number,
): Promise<{ answer: string; longestMs: number }> {
	const { hostname, port } = new URL(url);
	const socket = connect({ host: hostname, port: Number(port) }).pause();
	t.after(() => socket.destroy());
	socket.on('error', () => {});
	const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
	socket.write(head);
	let longestMs = 0;
	const piece = 'x'.repeat(bytes / 20);
	for (let count = 0; count < 20 && !socket.destroyed; count++) {
		const beganMs = performance.now();
		await new Promise<void>((resolve) => socket.write(piece, () => resolve()));
		await delay(pauseMs);
		longestMs = Math.max(longestMs, performance.now() - beganMs);
	}
	let answer = '';
	socket.setEncoding('latin1').on('data', (text) => {
		answer += text;
	});
	socket.resume();
	await closed;
	return { answer, longestMs };
}

/**
 * Takes the first answer off what a server has sent; none where it is not complete.
 * @param isAll nothing follows, so that a body that is missing belongs to a HEAD request
 * @throws Error where it does not begin with an answer
 */
export function firstAnswer(text: string, isAll = false): { answer?: RawAnswer; rest: string } {
	const headEnd = text.indexOf('\r\n\r\n');
	if (headEnd === -1) return { rest: text };
	const [statusLine = '', ...lines] = text.slice(0, headEnd).split('\r\n');
	const [, digits] = /^HTTP\/1\.1 (\d{3}) [\w ]*$/.exec(statusLine) ?? [];
	if (digits === undefined) throw new Error(`not an answer: ${text.slice(0, 500)}`);
	const headers = new Headers(
		lines.map((line): [string, string] => {
			const colon = line.indexOf(':');
			return [line.slice(0, colon), line.slice(colon + 1).trim()];
		}),
	);
	const after = text.slice(headEnd + 4);
	const hasNone = after.startsWith('HTTP/1.1 ') || (isAll && after === '');
	const body = hasNone ? { content: '', rest: after } : takeBody(after, headers);
	if (!body) return { rest: text };
	const { content, rest } = body;
	return {
		answer: { status: Number(digits), headers, body: Buffer.from(content, 'latin1').toString('utf8') },
		rest,
	};
}

/** @returns undefined where the body is not complete */
function takeBody(text: string, headers: Headers): { content: string; rest: string } | undefined {
	if (headers.get('transfer-encoding') !== 'chunked') {
		const length = Number(headers.get('content-length') ?? 0);
		return text.length < length ? undefined : { content: text.slice(0, length), rest: text.slice(length) };
	}
	let content = '';
	for (let at = 0; ; ) {
		const lineEnd = text.indexOf('\r\n', at);
		const length = Number.parseInt(text.slice(at, lineEnd), 16);
		const end = lineEnd + 2 + length;
		if (lineEnd === -1 || text.length < end + 2) return undefined;
		content += text.slice(lineEnd + 2, end);
		at = end + 2;
		if (length === 0) return { content, rest: text.slice(at) };
	}
}

/** The request line and headers of an upload. A header that is `undefined` is left out. */
export function uploadHead(headers: Record<string, string | number | undefined>): string {
	const all = { host: 'caskade.test', 'content-type': 'application/json', ...headers };
	const lines = Object.entries(all)
		.filter(([, value]) => value !== undefined)
		.map(([name, value]) => `${name}: ${value}`);
	return ['POST /subscription HTTP/1.1', ...lines, '', ''].join('\r\n');
}
