import { type FastifyInstance, type FastifyRequest, fastify } from 'fastify';
import { clientOf, isProxyOf } from '../../core/domain/client-address.ts';
import type { Proxies } from '../../core/domain/proxies.ts';
import { reasonOf } from '../../core/errors.ts';
import { createTlsServer, type Tls } from '../../core/http/https.ts';
import type { Log } from '../../core/log.ts';
import { createServer } from '../../core/node-http.ts';
import { isByLoopback } from '../../kit/console/by-loopback.ts';
import type { ConsoleAnswer, ConsoleRequest } from '../../kit/console/exchange.ts';
import { LivePages, livePath } from './live.ts';

export interface ConsolePort {
	readonly host: string;
	readonly port: number;
	readonly tls?: Tls | undefined;
	readonly proxies?: Proxies | undefined;
	readonly log: Log;
	readonly answer: (request: ConsoleRequest) => Promise<ConsoleAnswer>;
}

/** A form of a rule, or of an address of a webhook, is small. */
const maxFormBytes = 64 * 1024;
const timeouts = {
	headersTimeout: 10_000,
	requestTimeout: 30_000,
	keepAliveTimeout: 72_000,
	connectionsCheckingInterval: 1000,
	requireHostHeader: true,
};

const passedHeaders = ['cookie', 'origin', 'sec-fetch-site', 'user-agent', 'host'] as const;

/** Listens for the console, and passes requests on. */
export async function listenForConsole({
	host,
	port,
	tls,
	proxies,
	log,
	answer,
}: ConsolePort): Promise<FastifyInstance> {
	const isProxy = proxies ? isProxyOf(proxies) : undefined;
	const app = fastify({
		bodyLimit: maxFormBytes,
		trustProxy: isProxy ?? false,
		serverFactory: (handler) =>
			(tls ? createTlsServer(tls, timeouts, log) : createServer(timeouts)).on(
				'request',
				handler as never,
			) as never,
	});
	const live = new LivePages();
	const onLiveError = (error: unknown) =>
		log.error({ cause: reasonOf(error) }, 'a page could not be sent anew');
	app.addHook('preClose', async () => live.stop());
	app.addHook('onRequest', async ({ raw }, reply) => {
		// RFC 9112, 3.2: which of them counts, a proxy may see otherwise.
		const hosts = raw.rawHeaders.filter((name, place) => place % 2 === 0 && name.toLowerCase() === 'host');
		if (hosts.length > 1) return reply.code(400).send();
		return undefined;
	});
	app.removeAllContentTypeParsers();
	app.addContentTypeParser(
		'application/x-www-form-urlencoded',
		{ parseAs: 'string' },
		(_request, body, done) => done(null, body),
	);
	app.route({
		method: ['GET', 'POST'],
		url: '/*',
		exposeHeadRoute: true,
		async handler(request, reply) {
			const asked = requestOf(request, isProxy);
			if (asked.path === livePath && asked.method === 'GET') {
				const of = new URLSearchParams(asked.query).get('of') ?? '';
				const [path = '', query = ''] = of.split(/\?(.*)/s);
				reply.hijack();
				return live.send(reply.raw, () => answer({ ...asked, path, query, isAnew: true })).catch(onLiveError);
			}
			const { status, headers, body } = await answer(asked);
			reply.code(status).headers(headers as Record<string, string>);
			return reply.send(body);
		},
	});
	await app.listen({ host, port });
	return app;
}

function requestOf(request: FastifyRequest, isProxy: Parameters<typeof clientOf>[1]): ConsoleRequest {
	const { method, url, body, headers, raw } = request;
	const mark = url.indexOf('?');
	return {
		method: method === 'HEAD' ? 'GET' : method,
		path: mark < 0 ? url : url.slice(0, mark),
		query: mark < 0 ? '' : url.slice(mark + 1),
		form: typeof body === 'string' ? body : '',
		headers: Object.fromEntries(
			passedHeaders.map((name) => [
				name,
				name === 'host' ? request.host : (headers[name] as string | undefined),
			]),
		),
		address: clientOf(raw, isProxy).address ?? '',
		isSecure: request.protocol === 'https',
		isByLoopback: isByLoopback(raw.socket.remoteAddress ?? '', headers),
	};
}
