import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** Builds requests of one kind. They are written as they are, so they must be whole HTTP/1.1 requests. */
export type RequestMaker = () => string;

/**
 * Connections of a load generator to one server. Sends a number of requests as fast as they are answered, each
 * connection the next one after the answer to its last. Unlike wrk it can pause, so that servers take turns of a tenth of a
 * second: a machine's speed changes within seconds.
 */
export class Connections implements Disposable {
	readonly #sockets: readonly Socket[];

	private constructor(sockets: readonly Socket[]) {
		this.#sockets = sockets;
	}

	static async open(url: string, count: number): Promise<Connections> {
		const { hostname, port } = new URL(url);
		const sockets = Array.from({ length: count }, () => connect(Number(port), hostname).setNoDelay());
		await Promise.all(sockets.map((socket) => once(socket, 'connect')));
		return new Connections(sockets);
	}

	/** @throws Error where an answer has another status, or a connection ends */
	async send(make: RequestMaker, requests: number, status: number): Promise<void> {
		let unsent = requests;
		const talk = (socket: Socket) =>
			new Promise<void>((resolve, reject) => {
				const end = (outcome: () => void) => {
					socket.removeAllListeners('data').removeAllListeners('close').removeAllListeners('error');
					outcome();
				};
				const next = () => {
					if (unsent === 0) return end(resolve);
					unsent--;
					socket.write(make(), 'utf8');
				};
				let answer = '';
				socket.on('data', (chunk: Buffer) => {
					answer += chunk.toString('latin1');
					const isWhole = isWholeAnswer(answer);
					if (!isWhole) return;
					if (!answer.startsWith(`HTTP/1.1 ${status} `))
						return end(() => reject(new Error(`An answer is not ${status}: ${answer.slice(0, 500)}`)));
					answer = '';
					next();
				});
				socket.once('close', () => end(() => reject(new Error('A server has closed a connection.'))));
				socket.once('error', (error) => end(() => reject(error)));
				next();
			});
		await Promise.all(this.#sockets.map(talk));
	}

	[Symbol.dispose](): void {
		for (const socket of this.#sockets) socket.destroy();
	}
}

/** The service says how long each answer is. */
function isWholeAnswer(text: string): boolean {
	const headEnd = text.indexOf('\r\n\r\n');
	if (headEnd < 0) return false;
	const [, length] = /\r\ncontent-length: (\d+)/i.exec(text) ?? [];
	return length !== undefined && text.length >= headEnd + 4 + Number(length);
}
