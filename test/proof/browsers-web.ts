import { Agent, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { selfSignedPair } from '../../src/core/http/self-signed.ts';

/** What becomes of a hit on its way. */
export interface Way {
	/** How much later than usual the answer comes. */
	readonly answerMs?: number;
	/** The hit is stored, and the browser never learns it. */
	readonly isAnswerLost?: boolean;
	/** The hit does not reach the service. */
	readonly isLost?: boolean;
}

/** Waits for hits are given up after this, because what a tag does not send is a result. */
const waitMs = 3000;

/** The hits of a site: who waits for one is told when it passes. They are named by the title and the events in them. */
export class HitTraffic {
	/** Of the hit with a title or an event of this name; others pass at once. */
	readonly ways = new Map<string, Way>();
	readonly #arrived = new Map<string, PromiseWithResolvers<void>>();
	readonly #answered = new Map<string, PromiseWithResolvers<void>>();
	#inFlight = 0;
	#lastMs = performance.now();

	/** @returns whether the hit has come in time */
	arrived(name: string): Promise<boolean> {
		return within(waitMs, promiseOf(this.#arrived, name).promise);
	}

	answered(name: string): Promise<boolean> {
		const { answerMs = 0 } = this.ways.get(name) ?? {};
		return within(waitMs + answerMs, promiseOf(this.#answered, name).promise);
	}

	/** Until nothing is under way, and nothing has been for a while. */
	async quiet(forMs: number): Promise<void> {
		while (this.#inFlight > 0 || performance.now() - this.#lastMs < forMs) await delay(10);
	}

	async pass(body: string, send: (way: Way) => Promise<void>): Promise<void> {
		const names = namesIn(body);
		const way = names.flatMap((name) => this.ways.get(name) ?? [])[0] ?? {};
		this.#inFlight++;
		for (const name of names) promiseOf(this.#arrived, name).resolve();
		try {
			await send(way);
		} finally {
			this.#inFlight--;
			this.#lastMs = performance.now();
			for (const name of names) promiseOf(this.#answered, name).resolve();
		}
	}
}

function promiseOf(promises: Map<string, PromiseWithResolvers<void>>, name: string) {
	const known = promises.get(name) ?? Promise.withResolvers<void>();
	promises.set(name, known);
	return known;
}

async function within(limitMs: number, promise: Promise<void>): Promise<boolean> {
	const ended = new AbortController();
	const isLate = delay(limitMs, false, { signal: ended.signal }).catch(() => false);
	const isInTime = await Promise.race([promise.then(() => true), isLate]);
	ended.abort();
	return isInTime;
}

function namesIn(body: string): string[] {
	const { title, events = [] } = JSON.parse(body) as { title?: string; events?: { name: string }[] };
	return [...(title === undefined ? [] : [title]), ...events.map(({ name }) => name)];
}

/** A website: its pages, and what of it is the service's. */
export interface Site {
	/** The HTML of an address; undefined where there is no page. */
	page(url: URL): string | undefined;
	readonly service?: {
		readonly url: string;
		/** Paths that go to the service, as docs/reference/tag.md says. */
		readonly paths: ReadonlySet<string>;
		readonly hitPath: string;
		readonly traffic: HitTraffic;
	};
}

/** All hosts of the proof, by HTTPS, on one port of this machine. */
export class Web implements AsyncDisposable {
	readonly #server: Server;
	readonly #sites = new Map<string, Site>();
	readonly #toService = new Agent({ keepAlive: true });

	private constructor(server: Server) {
		this.#server = server;
		server.on('request', (request, response) => {
			// A browser that is gone needs no answer.
			this.#answer(request, response).catch(() => request.destroy());
		});
	}

	static async start(): Promise<Web> {
		const web = new Web(createServer(await selfSignedPair()));
		await new Promise<void>((resolve) => web.#server.listen(0, '127.0.0.1', resolve));
		return web;
	}

	/** Leads a browser's requests here, whatever the host: none leaves the machine. */
	get browserFlags(): string[] {
		const { port } = this.#server.address() as AddressInfo;
		return [`--host-resolver-rules=MAP * 127.0.0.1:${port}`, '--ignore-certificate-errors'];
	}

	/** Hosts without a site have one empty page. */
	add(host: string, site: Site): void {
		this.#sites.set(host, site);
	}

	async [Symbol.asyncDispose](): Promise<void> {
		this.#toService.destroy();
		this.#server.closeAllConnections();
		await new Promise((resolve) => this.#server.close(resolve));
	}

	async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
		const host = request.headers.host ?? '';
		const url = new URL(request.url ?? '/', `https://${host}`);
		const site = this.#sites.get(host);
		const { service } = site ?? {};
		if (!service?.paths.has(url.pathname)) {
			const html = site ? site.page(url) : '<title>Elsewhere</title>';
			response.writeHead(html === undefined ? 404 : 200, { 'content-type': 'text/html; charset=utf-8' });
			response.end(html);
			return;
		}
		const body = Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>));
		const send = async ({ answerMs = 0, isAnswerLost = false, isLost = false }: Way) => {
			if (isLost) {
				request.destroy();
				return;
			}
			const answer = await this.#ask(service.url, request, body);
			await delay(answerMs);
			if (isAnswerLost) request.destroy();
			else response.writeHead(answer.status, answer.headers).end(answer.body);
		};
		const isHit = url.pathname === service.hitPath && request.method === 'POST';
		await (isHit ? service.traffic.pass(body.toString(), send) : send({}));
	}

	/** Asks the service as a proxy of the site does. */
	#ask(service: string, { method, url = '/', headers }: IncomingMessage, body: Buffer) {
		const { promise, resolve, reject } = Promise.withResolvers<{
			status: number;
			headers: IncomingMessage['headers'];
			body: Buffer;
		}>();
		const forwarded = { 'x-forwarded-for': '198.51.100.7', 'x-forwarded-proto': 'https' };
		request(
			`${service}${url}`,
			{ agent: this.#toService, method, headers: { ...headers, ...forwarded } },
			async (answer) => {
				const { 'transfer-encoding': _, connection: __, 'keep-alive': ___, ...kept } = answer.headers;
				resolve({
					status: answer.statusCode ?? 0,
					headers: kept,
					body: Buffer.concat(await Array.fromAsync(answer as AsyncIterable<Buffer>)),
				});
			},
		)
			.on('error', reject)
			.end(body);
		return promise;
	}
}
