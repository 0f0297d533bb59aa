import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** A load balancer in front of several servers. */
export interface LoadBalancer extends AsyncDisposable {
	readonly url: string;
	/** Whether this server gets requests. */
	isReady(url: string): boolean;
	/** Requests forwarded to this server so far. */
	forwarded(url: string): number;
}

interface Backend {
	readonly url: string;
	isReady: boolean;
	forwarded: number;
}

/**
 * A minimal load balancer. It polls each server's `/readyz` and forwards requests in turn to the servers that were ready
 * last time. It keeps connections alive and never retries. Without an answer from the server, it answers 502.
 */
export class Balancer implements LoadBalancer {
	readonly #backends: readonly Backend[];
	readonly #server = createServer((received, answer) => this.#forward(received, answer));
	readonly #agent = new Agent({ keepAlive: true });
	readonly #pollEveryMs: number;
	#next = 0;
	#stopped = false;

	private constructor(urls: readonly string[], pollEveryMs: number) {
		this.#backends = urls.map((url) => ({ url, isReady: false, forwarded: 0 }));
		this.#pollEveryMs = pollEveryMs;
	}

	static async start(urls: readonly string[], options: { pollEveryMs: number }): Promise<Balancer> {
		const balancer = new Balancer(urls, options.pollEveryMs);
		for (const backend of balancer.#backends) void balancer.#watch(backend);
		balancer.#server.listen(0, '127.0.0.1');
		await once(balancer.#server, 'listening');
		return balancer;
	}

	get url(): string {
		return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
	}

	isReady(url: string): boolean {
		return this.#backend(url).isReady;
	}

	forwarded(url: string): number {
		return this.#backend(url).forwarded;
	}

	#backend(url: string): Backend {
		const backend = this.#backends.find((candidate) => candidate.url === url);
		if (!backend) throw new Error(`no backend ${url}`);
		return backend;
	}

	async #watch(backend: Backend): Promise<void> {
		while (!this.#stopped) {
			backend.isReady = await fetch(`${backend.url}/readyz`).then(
				({ ok }) => ok,
				() => false,
			);
			await delay(this.#pollEveryMs);
		}
	}

	#forward(received: IncomingMessage, answer: ServerResponse): void {
		const ready = this.#backends.filter(({ isReady }) => isReady);
		const backend = ready[this.#next++ % ready.length];
		if (!backend) {
			answer.writeHead(503).end();
			return;
		}
		backend.forwarded++;
		const { method, headers, url } = received;
		const { connection: _, ...rest } = headers;
		const options = { agent: this.#agent, method: method as string, headers: rest };
		const sent = request(`${backend.url}${url}`, options, (response) => {
			const { connection: _, 'keep-alive': __, ...passedOn } = response.headers;
			answer.writeHead(response.statusCode as number, passedOn);
			response.pipe(answer);
		});
		sent.on('error', () => {
			if (answer.headersSent) answer.destroy();
			else answer.writeHead(502).end();
		});
		received.pipe(sent);
	}

	async [Symbol.asyncDispose](): Promise<void> {
		this.#stopped = true;
		this.#server.close();
		this.#server.closeAllConnections();
		this.#agent.destroy();
	}
}
