import { randomUUID } from 'node:crypto';
import { type FastifyInstance, fastify } from 'fastify';
import { Admission } from './access/admission.ts';
import type { AccessDirectory } from './access/directory.ts';
import type { QuotaCounter } from './access/quota.ts';
import { LocalRateLimiter, SharedRateLimiter } from './access/rate-limit.ts';
import { health } from './api/health.ts';
import { subscription } from './api/subscription.ts';
import { monotonicMs } from './clock.ts';
import { ApiError } from './errors.ts';
import { answerClientError, sendError, toApiError } from './http/answer.ts';
import { bodyLimitBytes } from './http/body.ts';
import { docs, openapi } from './http/openapi.ts';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';
import type { ServingWriter, UploadOutcome } from './store/store.ts';

export interface AppOptions {
	readonly directory: AccessDirectory;
	readonly quota: QuotaCounter;
	readonly writer: ServingWriter;
	readonly metrics: Metrics;
	readonly log: Log;
	/** Milliseconds since 1970. */
	readonly now: () => number;
	readonly isDraining: () => boolean;
}

/** How long the request line and headers may take; bodies have the deadline of their usage plan. */
const headersTimeoutMs = 10_000;
/** Longer than any plan's timeout: closes connections whose request was refused and whose body never comes. */
const requestTimeoutMs = 120_000;
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** Puts the HTTP service together. It does not listen. */
export async function buildApp(options: AppOptions): Promise<FastifyInstance> {
	const { directory, quota, writer, metrics, log, now } = options;
	const app = fastify({
		logger: false,
		genReqId: () => randomUUID(),
		bodyLimit: bodyLimitBytes,
		requestTimeout: requestTimeoutMs,
		return503OnClosing: false,
		http: { headersTimeout: headersTimeoutMs, connectionsCheckingInterval: 1000 },
		clientErrorHandler(error, socket) {
			if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy();
			const { status, text } = answerClientError(error.code, randomUUID());
			metrics.answered('none', status, 0);
			socket.end(text);
		},
		frameworkErrors(error, request, reply) {
			reply.header('x-request-id', request.id);
			sendError(request, reply, toApiError(error));
		},
	});

	// Operations check what they are sent themselves, with the same schemas, to answer as the contract says.
	app.setValidatorCompiler(() => () => true);
	app.setSerializerCompiler(() => (data) => JSON.stringify(data));
	app.removeAllContentTypeParsers();
	app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
	app.server.on('checkContinue', (request, response) => app.routing(request, response));

	app.addHook('onRequest', (request, reply, done) => {
		reply.header('x-request-id', request.id);
		done(request.is404 ? noSuchRoute(app, request.url, request.method) : undefined);
	});
	const logsRequests = log.isLevelEnabled('debug');
	app.addHook('onResponse', (request, reply, done) => {
		const operation = request.routeOptions.config.operation ?? 'none';
		const { statusCode: status } = reply;
		const seconds = reply.elapsedTime / 1000;
		metrics.answered(operation, status, seconds);
		if (logsRequests) log.debug({ requestId: request.id, operation, status, seconds }, 'answered');
		done();
	});
	app.addHook('onError', (request, _reply, error, done) => {
		const { status, code, detail } = toApiError(error);
		const entry = { requestId: request.id, code, detail };
		if (status >= 500) log.error({ ...entry, cause: causeOf(error) }, 'failed');
		else if (status === 400) log.info(entry, 'refused');
		done();
	});
	app.setErrorHandler((error, request, reply) => {
		// The framework asks to close the connection at once, which may lose the answer; `sendError` knows better.
		reply.removeHeader('connection');
		sendError(request, reply, toApiError(error));
	});

	const admission = new Admission({
		directory,
		rate: writer.tokens
			? new SharedRateLimiter(writer.tokens, monotonicMs)
			: new LocalRateLimiter(monotonicMs),
		quota,
		now,
		onRefusal: (kind) => metrics.refusals.inc({ kind }),
	});
	const onUpload = (aid: string, requestId: string, outcome: UploadOutcome, simulated: boolean) => {
		if (simulated) return;
		metrics.eventsStored.inc(outcome.stored);
		if (outcome.duplicate > 0) metrics.eventsDuplicate.inc(outcome.duplicate);
		if (outcome.conflicts.length === 0) return;
		metrics.eventsConflicting.inc(outcome.conflicts.length);
		log.warn({ requestId, aid, tids: outcome.conflicts }, 'conflict: stored with other content before');
	};

	await openapi(app);
	subscription(app, { admission, directory, writer, now, onUpload });
	health(app, { isDraining: options.isDraining, probe: () => writer.probe(), monotonicMs });
	docs(app);
	await app.ready();
	return app;
}

/** `OPTIONS` is what a browser asks before a request from another origin; the answer is no, as it is to the request. */
function noSuchRoute(app: FastifyInstance, url: string, method: string): ApiError {
	const path = url.split('?', 1)[0] as string;
	const allowed = methods.filter((candidate) => app.hasRoute({ url: path, method: candidate }));
	if (allowed.length === 0) return new ApiError('not_found');
	if (method === 'OPTIONS') return new ApiError('forbidden');
	return new ApiError('method_not_allowed', { headers: { allow: allowed.join(', ') } });
}

const projectFolder = new URL('..', import.meta.url);

/** For the log: what went wrong and where, without the folder that the project lies in. */
function causeOf(error: Error): string | undefined {
	const cause = error instanceof ApiError ? error.cause : error;
	if (!(cause instanceof Error)) return undefined;
	return (cause.stack ?? cause.message)
		.replaceAll(projectFolder.href, '')
		.replaceAll(projectFolder.pathname, '');
}
