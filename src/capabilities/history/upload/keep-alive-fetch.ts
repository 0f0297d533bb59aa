import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Agent as SecureAgent, request as secureRequest } from 'node:https';
import { text } from 'node:stream/consumers';
import { Agent, request } from '../../../core/node-http.ts';

/**
 * Implements the part of `fetch` that the client needs, over connections that are kept open. It takes about half the CPU time
 * of Node's `fetch`, which matters for files of a million rows.
 */
export function keepAliveFetch(connections: number): typeof fetch {
	const options = { keepAlive: true, maxSockets: connections };
	const [agent, secureAgent] = [new Agent(options), new SecureAgent(options)];
	return async (input, { method = 'GET', headers, body, signal } = {}) => {
		const url = new URL(String(input));
		const isSecure = url.protocol === 'https:';
		const sent = typeof body === 'string' ? body : '';
		const outgoing = (isSecure ? secureRequest : request)(url, {
			method,
			headers: {
				...(headers as Record<string, string>),
				...(sent && { 'content-length': Buffer.byteLength(sent) }),
			},
			agent: isSecure ? secureAgent : agent,
			...(signal && { signal }),
		});
		// After the response has started, reading its body reports the error.
		outgoing.on('error', () => {});
		outgoing.end(sent);
		const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
		const received = await text(response);
		const status = response.statusCode ?? 0;
		const known = new Headers();
		for (const [name, value] of Object.entries(response.headers)) known.set(name, String(value));
		return new Response(received || null, { status, headers: known });
	};
}
