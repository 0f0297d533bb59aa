import { connect } from 'node:net';
import type { TestContext } from 'node:test';

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

function firstAnswer(text: string): { answer?: RawAnswer; rest: string } {
	const headEnd = text.indexOf('\r\n\r\n');
	if (headEnd === -1) return { rest: text };
	const [statusLine = '', ...lines] = text.slice(0, headEnd).split('\r\n');
	const headers = new Headers(
		lines.map((line): [string, string] => {
			const colon = line.indexOf(':');
			return [line.slice(0, colon), line.slice(colon + 1).trim()];
		}),
	);
	const bodyEnd = headEnd + 4 + Number(headers.get('content-length') ?? 0);
	if (text.length < bodyEnd) return { rest: text };
	const body = Buffer.from(text.slice(headEnd + 4, bodyEnd), 'latin1').toString('utf8');
	return { answer: { status: Number(statusLine.split(' ')[1]), headers, body }, rest: text.slice(bodyEnd) };
}

/** The request line and headers of an upload. A header that is `undefined` is left out. */
export function uploadHead(headers: Record<string, string | number | undefined>): string {
	const all = { host: 'caskade.test', 'content-type': 'application/json', ...headers };
	const lines = Object.entries(all)
		.filter(([, value]) => value !== undefined)
		.map(([name, value]) => `${name}: ${value}`);
	return ['POST /subscription HTTP/1.1', ...lines, '', ''].join('\r\n');
}
