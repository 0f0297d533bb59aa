import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { ConsoleAnswer } from '../../kit/console/exchange.ts';

/** Where pages ask to be sent anew when they change. The page's own address is in `of`. */
export const livePath = '/console/live';

/** Somebody who has many pages open closes those in the background, but a connection takes memory. */
const maxStreams = 200;
/** Of one person, whatever number of sessions: nobody alone takes what all share. */
const maxStreamsOfPerson = 10;
/** A client that has not read a page by then is gone. */
const maxUnreadMs = 30_000;

/** What a page is told that may not be seen any more: somebody may be reading it, or typing. */
const goneText =
	'<p class="warning" role="alert">This page is no longer updated: you were signed out, or may not see it any more. <a href="">Load it again</a></p>';

/** Pages that people look at, each on a connection of server-sent events, until they no longer change. */
export class LivePages {
	/** Each with the person whose page it is, as soon as that is known. */
	readonly #streams = new Map<AbortController, string | undefined>();

	/**
	 * Sends a page whenever it differs, as who has asked would be shown it. It ends with the session, and when the page is whole.
	 * @param ask asks for the page
	 */
	async send(response: ServerResponse, ask: () => Promise<ConsoleAnswer>): Promise<void> {
		const stream = new AbortController();
		const { signal } = stream;
		const end = (status: number) => response.writeHead(status).end();
		if (this.#streams.size >= maxStreams) return void end(503);
		this.#streams.set(stream, undefined);
		response.on('close', () => stream.abort());
		try {
			let sent = '';
			for (let isFirst = true; !signal.aborted; isFirst = false) {
				const { status, headers, body, againAfterMs, personId } = await ask();
				const isPage = status === 200 && String(headers['content-type']).startsWith('text/html');
				if (isFirst && !isPage) return void end(204);
				if (isFirst && this.#streamsOf(personId) >= maxStreamsOfPerson) return void end(429);
				this.#streams.set(stream, personId);
				if (isFirst)
					response.writeHead(200, {
						'content-type': 'text/event-stream',
						'cache-control': 'no-store',
						// Proxies would hold it back until it is long.
						'x-accel-buffering': 'no',
					});
				const hash = createHash('sha256').update(body).digest('base64');
				const isTaken = !isPage || hash === sent || response.write(`${body.replaceAll(/^/gm, 'data: ')}\n\n`);
				sent = hash;
				if (!isTaken && !(await this.#isRead(response, signal))) return void response.destroy();
				if (!isPage || againAfterMs === undefined)
					return void response.end(`event: end\ndata:${isPage ? '' : goneText}\n\n`);
				await delay(againAfterMs, undefined, { signal });
			}
		} catch (error) {
			if (!signal.aborted) throw error;
		} finally {
			this.#streams.delete(stream);
			response.end();
		}
	}

	#streamsOf(personId: string | undefined): number {
		return [...this.#streams.values()].filter((id) => id !== undefined && id === personId).length;
	}

	/** Waits for a client that reads slowly, and asks for no other page meanwhile. @returns whether it has read all */
	async #isRead(response: ServerResponse, signal: AbortSignal): Promise<boolean> {
		const due = AbortSignal.timeout(maxUnreadMs);
		return once(response, 'drain', { signal: AbortSignal.any([signal, due]) }).then(
			() => true,
			() => false,
		);
	}

	stop(): void {
		for (const stream of this.#streams.keys()) stream.abort();
	}
}
