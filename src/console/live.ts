import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { ConsoleAnswer } from './exchange.ts';

/** Where pages ask to be sent anew when they change. The page's own address is in `of`. */
export const livePath = '/console/live';

/** Somebody who has many pages open closes those in the background, but a connection takes memory. */
const maxStreams = 200;

/** Pages that people look at, each on a connection of server-sent events, until they no longer change. */
export class LivePages {
	readonly #streams = new Set<AbortController>();

	/**
	 * Sends a page whenever it differs, as who has asked would be shown it. It ends with the session, and when the page is whole.
	 * @param ask asks for the page
	 */
	async send(response: ServerResponse, ask: () => Promise<ConsoleAnswer>): Promise<void> {
		const stream = new AbortController();
		const { signal } = stream;
		const end = (status: number) => response.writeHead(status).end();
		if (this.#streams.size >= maxStreams) return void end(503);
		this.#streams.add(stream);
		response.on('close', () => stream.abort());
		try {
			let sent = '';
			for (let isFirst = true; !signal.aborted; isFirst = false) {
				const { status, headers, body, againAfterMs } = await ask();
				const isPage = status === 200 && String(headers['content-type']).startsWith('text/html');
				if (isFirst && !isPage) return void end(204);
				if (isFirst)
					response.writeHead(200, {
						'content-type': 'text/event-stream',
						'cache-control': 'no-store',
						// Proxies would hold it back until it is long.
						'x-accel-buffering': 'no',
					});
				const hash = createHash('sha256').update(body).digest('base64');
				if (isPage && hash !== sent) response.write(`${body.replaceAll(/^/gm, 'data: ')}\n\n`);
				sent = hash;
				if (!isPage || againAfterMs === undefined) return void response.end('event: end\ndata:\n\n');
				await delay(againAfterMs, undefined, { signal });
			}
		} catch (error) {
			if (!signal.aborted) throw error;
		} finally {
			this.#streams.delete(stream);
			response.end();
		}
	}

	stop(): void {
		for (const stream of this.#streams) stream.abort();
	}
}
