import { randomUUID } from 'node:crypto';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { Admission } from '../access/admission.ts';
import { Authorizer } from '../access/authorizer.ts';
import type { AccessDirectory } from '../access/directory.ts';
import type { Quota } from '../access/quota.ts';
import { LocalRateLimiter, SharedRateLimiter } from '../access/rate-limit.ts';
import type { RequestCounter } from '../access/request-counter.ts';
import { monotonicMs } from '../clock.ts';
import { type BudgetLimits, HitBudget } from '../collect/hit-budget.ts';
import { isProxyOf, type ProxyProblem, proxyProblems } from '../domain/client-address.ts';
import type { Proxies } from '../domain/proxies.ts';
import { type ServerRole, serverRoles } from '../domain/server-role.ts';
import { ApiError, withoutKeys } from '../errors.ts';
import { sendError, toApiError } from '../http/answer.ts';
import { bodyLimitBytes } from '../http/body.ts';
import { enforceBodyTimeout } from '../http/body-timeout.ts';
import { answerClientError } from '../http/client-error.ts';
import { allowAllOrigins } from '../http/cors.ts';
import { drainConnection } from '../http/draining.ts';
import { createTlsServer, type Tls } from '../http/https.ts';
import { malformation } from '../http/malformed.ts';
import { openapi } from '../http/openapi.ts';
import { filterRequests } from '../http/request-filter.ts';
import { Routes } from '../http/routes.ts';
import type { Log } from '../log.ts';
import { LogThrottle } from '../log-throttle.ts';
import type { Metrics } from '../metrics.ts';
import { createServer } from '../node-http.ts';
import type { VisitorScorer } from '../scoring/serve/visitor-scorer.ts';
import { VisitorReads } from '../segments/visitor-reads.ts';
import type { Schemas } from '../store/migrations.ts';
import type { RequestWriter, ServingReader } from '../store/serving.ts';
import { docs } from './docs.ts';
import { health } from './health.ts';
import { hit } from './hit.ts';
import { hitGif } from './hit-gif.ts';
import { HitHandler } from './hit-handler.ts';
import { root } from './root.ts';
import { securityText } from './security-text.ts';
import { segments } from './segments.ts';
import type { ServingPart } from './serving-part.ts';
import { type SitePaths, sitePaths } from './site-paths.ts';
import { countUpload, subscription, type UploadResult, uploadOperation } from './subscription.ts';
import { tag, tagVersions } from './tag.ts';
import { visscores } from './visscores.ts';

export interface AppOptions extends SitePaths {
	readonly directory: AccessDirectory;
	readonly quota: Quota;
	readonly writer: RequestWriter;
	readonly reader: ServingReader;
	readonly scorer: VisitorScorer;
	/** Records what is counted of requests. It is stopped with the service. */
	readonly counter: RequestCounter;
	/** What capabilities add. */
	readonly parts?: readonly ServingPart[];
	/** The server's roles; all by default. */
	readonly roles?: readonly ServerRole[] | undefined;
	readonly hitLimits?: BudgetLimits;
	readonly metrics: Metrics;
	readonly log: Log;
	/** Milliseconds since 1970. */
	readonly now: () => number;
	readonly isDraining: () => boolean;
	readonly schemas: Schemas;
	/** Whom to tell of a weakness, a URI; nobody by default. */
	readonly securityContact?: string | undefined;
	/** Whether to serve the demo shop. */
	readonly demo?: boolean | undefined;
	/** Path prefix of all operations, for example `/api/staging`. */
	readonly prefix?: string;
	/** Proxies whose `x-forwarded-…` headers are trusted; none by default. */
	readonly proxies?: Proxies | undefined;
	/** Whether hits from an address are not stored. */
	readonly isIgnored?: ((address: string | undefined) => boolean) | undefined;
	/** How long a connection without a request stays open. */
	readonly keepAliveMs?: number | undefined;
	/** Without it the server speaks plain HTTP/1.1. */
	readonly tls?: Tls | undefined;
}

/** Time limit for the request line and headers. Bodies have the deadline of their usage plan. */
const headersTimeoutMs = 10_000;
/** Longer than any plan's timeout. Closes connections whose request was refused and whose body never arrives. */
const requestTimeoutMs = 120_000;
/** Longer than the idle time that proxies have by default, which is up to a minute. */
const usualKeepAliveMs = 72_000;

/** Room for any `tid` in a path: 255 characters of up to four bytes, each percent-encoded as three characters. */
const maxParamLength = 255 * 4 * 3;

/** Generous for an office behind one address, and for a page that sends many events. */
export const defaultHitLimits: BudgetLimits = { perAddress: 50, perVisitor: 5 };

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

/** Builds the HTTP service. It does not listen. @throws OperatorError if a path that the operator chose is taken */
export async function buildApp(options: AppOptions): Promise<FastifyInstance> {
	const { directory, quota, writer, reader, scorer, counter, metrics, log, now, prefix = '', tls } = options;
	const { roles = serverRoles, hitLimits = defaultHitLimits } = options;
	const { parts = [], keepAliveMs = usualKeepAliveMs } = options;
	const followers = parts.flatMap(({ onVisitorChange }) => onVisitorChange ?? []);
	const onVisitorChange = (accountId: number) => {
		for (const tell of followers) tell(accountId);
	};
	const connections = connectionOptions(keepAliveMs);
	const isProxy = options.proxies === undefined ? undefined : isProxyOf(options.proxies);
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
	const onAnswered = (status: number) => metrics.answered('none', status, 0);
	const routes = new Routes(app);
	filterRequests(app.server, {
		handler: app.routing,
		routes,
		isDraining: options.isDraining,
		onAnswered,
		inOneGo: (handleAll) => reader.inOneState(handleAll),
	});
	const begin = (request: FastifyRequest, reply: FastifyReply) => {
		reply.header('x-request-id', request.id);
		if (options.isDraining()) drainConnection(request.raw, reply.raw);
	};

	app.removeAllContentTypeParsers();
	app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));

	app.addHook('onRequest', (request, reply, done) => {
		begin(request, reply);
		const error = requestError(routes, request, reply);
		if (!error) enforceBodyTimeout(request, reply, requestTimeoutMs);
		done(error);
	});
	const logsRequests = log.isLevelEnabled('debug');
	app.decorateRequest('refusal', null);
	app.addHook('onResponse', (request, reply, done) => {
		const operation = request.routeOptions.config.operation ?? 'none';
		const { statusCode: status } = reply;
		const seconds = reply.elapsedTime / 1000;
		metrics.answered(operation, status, seconds);
		if (operation === uploadOperation) countUpload(counter, request, status, now());
		if (logsRequests) log.debug({ requestId: request.id, operation, status, seconds }, 'answered');
		done();
	});
	const logThrottle = new LogThrottle(monotonicMs);
	/** What the log says of a request: enough to find who sent it, and no key. */
	const about = ({ id, routeOptions, admitted }: FastifyRequest, aid = admitted?.aid) => ({
		requestId: id,
		operation: routeOptions.config.operation,
		client: admitted?.key.client ?? (aid === undefined ? undefined : directory.account(aid)?.client),
		aid,
	});
	app.addHook('onError', (request, _reply, error, done) => {
		const { status, code, detail, aid } = toApiError(error);
		const entry = { ...about(request, aid), code, detail: detail && withoutKeys(detail) };
		if (code === 'overloaded') metrics.refusals.inc({ kind: 'queue' });
		else if (code === 'timeout') onTimeout(request);
		else if (status >= 500) {
			const cause = causeOf(error);
			logThrottle.log(`failed ${entry.aid} ${cause}`, (fields) =>
				log.error({ ...entry, cause, ...fields }, 'failed'),
			);
		} else if (status === 400) log.info(entry, 'refused');
		done();
	});
	app.setErrorHandler((error, request, reply) => {
		// The framework closes the connection when it refuses a body. `sendError` decides whether that is needed. Without
		// the header, Node would forget that the client has closed its half.
		const isHalfClosed = request.raw.httpVersionMajor === 1 && request.raw.socket.readableEnded;
		if (!options.isDraining() && !isHalfClosed && reply.hasHeader('connection'))
			reply.removeHeader('connection');
		sendError(request, reply, toApiError(error, request.routeOptions.bodyLimit));
	});

	app.addHook('onClose', () => counter.stop());
	const admission = new Admission({
		directory,
		counter,
		rate: writer.tokens
			? new SharedRateLimiter(writer.tokens, monotonicMs)
			: new LocalRateLimiter(monotonicMs),
		own: new LocalRateLimiter(monotonicMs),
		quota,
		now,
		onRefusal: (kind) => metrics.refusals.inc({ kind }),
	});
	const onTimeout = (request: FastifyRequest) => log.warn(about(request), 'timed out');
	const onUpload = (requestId: string, { aid, events, simulate, outcome }: UploadResult) => {
		const { stored, duplicateRows, conflictingRows } = outcome;
		if (!simulate) {
			metrics.eventsStored.inc(stored);
			metrics.eventsDuplicate.inc(duplicateRows.length);
			metrics.eventsConflicting.inc(conflictingRows.length);
			const account = directory.account(aid);
			if (account?.isFollowed) onVisitorChange(account.id);
		}
		if (conflictingRows.length === 0) return;
		const tids = [...new Set(conflictingRows.map((row) => events[row]?.tid))];
		log.warn(
			{ requestId, aid, simulated: simulate, tids },
			'conflict: the tid was stored before with other content',
		);
	};

	const authorizer = new Authorizer(directory, now);
	const reads = new VisitorReads(reader, scorer, now, Object.assign({}, ...parts.map(({ hooks }) => hooks)));
	const budget = new HitBudget(hitLimits, monotonicMs);
	const probes = {
		isDraining: options.isDraining,
		probe: () => writer.probe(),
		monotonicMs,
		queueDepth: () => writer.queueDepth,
		schemas: options.schemas,
		startedAtMs: now(),
	};
	openapi(app, prefix);
	await app.register(
		async (operations) => {
			const guard = { admission, onTimeout };
			if (roles.includes('api')) {
				subscription(operations, { ...guard, directory, writer, now, onUpload });
				visscores(operations, { authorizer, reads, now });
				segments(operations, { authorizer, reads, now });
			}
			for (const { operations: add } of parts) await add?.(operations, guard);
			health(operations, probes);
			root(operations, options.demo === true);
			docs(operations);
			if (roles.includes('collect')) {
				const onHit = (kind: string) => metrics.hits.inc({ kind });
				const onLeftOut = (request: FastifyRequest, aid: string, error: unknown) => {
					const cause = causeOf(error);
					logThrottle.log(`left out ${aid} ${cause}`, (fields) =>
						log.error({ ...about(request, aid), cause, ...fields }, 'left out of the answer to a hit'),
					);
				};
				const onProxyProblem = (problem: ProxyProblem) => log.warn({}, proxyProblems[problem]);
				const { isIgnored = () => false } = options;
				const sinks = { onHit, onVisitorChange, onLeftOut, onProxyProblem, isIgnored };
				const handler = new HitHandler({
					directory,
					writer,
					reads,
					budget,
					isProxy,
					now,
					...sinks,
				});
				hit(operations, handler);
				hitGif(operations, handler);
				tag(operations);
				tagVersions(operations);
				sitePaths(operations, handler, routes, options);
			}
		},
		{ prefix },
	);
	// Its path is the same on every site.
	if (options.securityContact !== undefined) securityText(app, options.securityContact, now);
	// Supervisors ask the process directly, without the prefix.
	if (prefix) health(app, probes);
	await app.ready();
	return app;
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

const projectFolder = new URL('../../..', import.meta.url);

/** The cause of an error for the log, without the path of the installation. */
function causeOf(error: unknown): string | undefined {
	const cause = error instanceof ApiError ? error.cause : error;
	if (!(cause instanceof Error)) return undefined;
	return (cause.stack ?? cause.message)
		.replaceAll(projectFolder.href, '')
		.replaceAll(projectFolder.pathname, '');
}
