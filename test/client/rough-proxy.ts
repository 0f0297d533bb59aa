import { once } from 'node:events';
import { type IncomingMessage, type RequestOptions, request } from 'node:http';
import { createServer, Agent as SecureAgent, type Server, request as secureRequest } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { seededRandom } from '../../src/kit/random.ts';

/** What the proxy does with a request. */
const fates = [
	/** Closes the connection before the server has seen anything. */
	'cut before',
	/** Closes the connection when the server has answered. */
	'cut after',
	/** Closes the connection in the middle of the answer's body. */
	'cut within',
	/** Never answers, although the server has. */
	'stall',
	/** Answers 504 itself, before or after the server has seen the request. */
	'504 before',
	'504 after',
] as const;

type Fate = (typeof fates)[number];

export interface RoughProxy {
	readonly url: string;
	/** Number of requests by what was done with them. */
	readonly done: Readonly<Record<Fate | 'forwarded', number>>;
}

/**
 * Starts a proxy that terminates TLS and spoils a share of the requests, each in a random way.
 * @param certificate the proxy's certificate, for 127.0.0.1
 */
export async function startRoughProxy(
	t: Pick<TestContext, 'after'>,
	target: string,
	certificate: { cert: string; key: string },
	{ share, seed, stalls = true }: { share: number; seed: number; stalls?: boolean },
): Promise<RoughProxy> {
	const random = seededRandom(seed);
	const possible = fates.filter((fate) => stalls || fate !== 'stall');
	const done: Record<Fate | 'forwarded', number> = {
		forwarded: 0,
		'cut before': 0,
		'cut after': 0,
		'cut within': 0,
		stall: 0,
		'504 before': 0,
		'504 after': 0,
	};
	const agent = new SecureAgent({ keepAlive: true, rejectUnauthorized: false });
	const server: Server = createServer(certificate, async (incoming, response) => {
		const fate = random() < share ? (possible[Math.floor(random() * possible.length)] as Fate) : 'forwarded';
		done[fate]++;
		const body = await bytesOf(incoming).catch(() => null);
		if (body === null) return;
		if (fate === 'cut before') return void incoming.socket.destroy();
		if (fate === '504 before') return void response.writeHead(504).end('Gateway timeout');
		const answer = await forward(target, incoming, body, agent).catch(() => null);
		if (!answer) return void response.writeHead(502).end('Bad gateway');
		if (fate === 'cut after') return void incoming.socket.destroy();
		if (fate === 'stall') return;
		if (fate === '504 after') return void response.writeHead(504).end('<html>Gateway timeout</html>');
		response.writeHead(answer.status, answer.headers);
		if (fate === 'forwarded') return void response.end(answer.body);
		response.write(answer.body.subarray(0, 10));
		setTimeout(() => incoming.socket.destroy(), 5);
	});
	server.listen(0, '127.0.0.1');
	await once(server, 'listening');
	t.after(() => {
		server.close();
		server.closeAllConnections();
		agent.destroy();
	});
	return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, done };
}

async function bytesOf(message: IncomingMessage): Promise<Buffer> {
	const chunks: Buffer[] = [];
	for await (const chunk of message) chunks.push(chunk);
	return Buffer.concat(chunks);
}

interface Answer {
	readonly status: number;
	readonly headers: IncomingMessage['headers'];
	readonly body: Buffer;
}

async function forward(
	target: string,
	incoming: IncomingMessage,
	body: Buffer,
	agent: SecureAgent,
): Promise<Answer> {
	const isSecure = target.startsWith('https:');
	const options: RequestOptions = {
		method: incoming.method,
		headers: incoming.headers,
		...(isSecure && { agent }),
	};
	const outgoing = (isSecure ? secureRequest : request)(`${target}${incoming.url}`, options);
	outgoing.end(body);
	const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
	const { connection: _, 'keep-alive': __, ...headers } = response.headers;
	return { status: response.statusCode ?? 502, headers, body: await bytesOf(response) };
}
