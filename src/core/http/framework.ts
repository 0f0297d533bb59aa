import { randomUUID } from 'node:crypto';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { ApiError } from '../errors.ts';
import type { Log } from '../log.ts';
import { createServer } from '../node-http.ts';
import { sendError, toApiError } from './answer.ts';
import { bodyLimitBytes } from './body.ts';
import { enforceBodyTimeout } from './body-timeout.ts';
import { answerClientError } from './client-error.ts';
import { allowAllOrigins } from './cors.ts';
import { drainConnection } from './draining.ts';
import { createTlsServer, type Tls } from './https.ts';
import { malformation } from './malformed.ts';
import { filterRequests } from './request-filter.ts';
import { Routes } from './routes.ts';

export interface FrameworkOptions {
	/** Without it the server speaks plain HTTP/1.1. */
	readonly tls?: Tls | undefined;
	/** How long a connection without a request stays open. */
	readonly keepAliveMs?: number | undefined;
	/** Whether an address is that of a proxy whose `x-forwarded-…` headers are trusted. */
	readonly isProxy?: ((address: string, hop: number) => boolean) | undefined;
	readonly log: Log;
	readonly isDraining: () => boolean;
	/** A request was answered that reached no operation. */
	readonly onAnswered: (status: number) => void;
	/** Handles requests that have arrived together, with what they read in one state of the store. */
	readonly inOneGo: (handleAll: () => void) => void;
}

/** Time limit for the request line and headers. Bodies have the deadline of their usage plan. */
const headersTimeoutMs = 10_000;
/** Longer than any plan's timeout. Closes connections whose request was refused and whose body never arrives. */
const requestTimeoutMs = 120_000;
/** Longer than the idle time that proxies have by default, which is up to a minute. */
const usualKeepAliveMs = 72_000;

/** Room for any `tid` in a path: 255 characters of up to four bytes, each percent-encoded as three characters. */
const maxParamLength = 255 * 4 * 3;

/** Settings of `node:http`, with and without TLS. */
function connectionOptions(keepAliveMs: number) {
	return {
		headersTimeout: headersTimeoutMs,
		requestTimeout: requestTimeoutMs,
		keepAliveTimeout: keepAliveMs,
		connectionsCheckingInterval: 1000,
		// `requestError` checks it, so that the answer has this service's format.
		requireHostHeader: false,
	};
}

/** The web framework as the contract needs it: requests that reach no operation are answered in the contract's format, too. */
export function createFramework(options: FrameworkOptions): {
	readonly app: FastifyInstance;
	readonly routes: Routes;
} {
	const { tls, keepAliveMs = usualKeepAliveMs, isProxy, log, isDraining, onAnswered, inOneGo } = options;
	const connections = connectionOptions(keepAliveMs);
	const app = fastify({
		logger: false,
		genReqId: () => randomUUID(),
		bodyLimit: bodyLimitBytes,
		requestTimeout: requestTimeoutMs,
		keepAliveTimeout: keepAliveMs,
		routerOptions: { maxParamLength },
		return503OnClosing: false,
		// Operations validate their input themselves, with the same schemas, so that errors follow the contract.
		schemaController: {
			compilersFactory: {
				buildValidator: (() => () => () => true) as never,
				buildSerializer: () => () => (data) => JSON.stringify(data),
			},
		},
		trustProxy: isProxy ?? false,
		// Without a request listener: `filterRequests` passes the requests on.
		serverFactory: () =>
			Object.assign(tls ? createTlsServer(tls, connections, log) : createServer(connections), {
				// Without progress, a connection is closed after this time: its client does not read. The same as over HTTP/2.
				timeout: keepAliveMs + requestTimeoutMs,
			}),
		clientErrorHandler(error, socket) {
			const status = answerClientError(error.code, socket, randomUUID());
			if (status !== undefined) onAnswered(status);
		},
		frameworkErrors(error, request, reply) {
			begin(request, reply);
			const refusal = toApiError(error);
			sendError(request, reply, refusal);
			onAnswered(refusal.status);
		},
	});
	const routes = new Routes(app);
	filterRequests(app.server, { handler: app.routing, routes, isDraining, onAnswered, inOneGo });
	const begin = (request: FastifyRequest, reply: FastifyReply) => {
		reply.header('x-request-id', request.id);
		if (isDraining()) drainConnection(request.raw, reply.raw);
	};
	app.removeAllContentTypeParsers();
	app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
	app.addHook('onRequest', (request, reply, done) => {
		begin(request, reply);
		const error = requestError(routes, request, reply);
		if (!error) enforceBodyTimeout(request, reply, requestTimeoutMs);
		done(error);
	});
	app.setErrorHandler((error, request, reply) => {
		// The framework closes the connection when it refuses a body. `sendError` decides whether that is needed. Without
		// the header, Node would forget that the client has closed its half.
		const isHalfClosed = request.raw.httpVersionMajor === 1 && request.raw.socket.readableEnded;
		if (!isDraining() && !isHalfClosed && reply.hasHeader('connection')) reply.removeHeader('connection');
		sendError(request, reply, toApiError(error, request.routeOptions.bodyLimit));
	});
	return { app, routes };
}

/** Checks a request before any operation sees it. */
function requestError(routes: Routes, request: FastifyRequest, reply: FastifyReply): ApiError | undefined {
	const detail = malformation(request.raw);
	if (detail !== undefined) return new ApiError('bad_request', { detail });
	// The router looks at `*`, which stands for no path, as if it were a slash.
	if (!request.is404 && !request.url.startsWith('*')) return undefined;
	// A path that answers preflights is meant for pages, so pages may read its errors.
	if (routes.has(request.url, 'OPTIONS')) allowAllOrigins(reply);
	return routes.missing(request.url, request.method);
}
