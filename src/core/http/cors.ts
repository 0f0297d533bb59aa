import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** Headers of an answer that pages of other origins may read. */
const exposedHeaders = 'x-request-id, x-hit-stored, retry-after, www-authenticate';
/** How long browsers may cache a preflight; most allow at most two hours. */
const preflightSeconds = '7200';

/**
 * Lets pages of every origin read the answer, without credentials. For answers that reveal nobody's data, or that are
 * sent before it is known which account is concerned.
 */
export function allowAllOrigins(reply: FastifyReply): void {
	reply.header('access-control-allow-origin', '*').header('access-control-expose-headers', exposedHeaders);
}

/**
 * Whether the account allows the request's origin. An account that names no origins allows all; a request without an
 * origin is allowed.
 */
export function isAllowedOrigin(request: FastifyRequest, origins: readonly string[]): boolean {
	const { origin } = request.headers;
	return origin === undefined || origins.length === 0 || origins.includes(origin);
}

/** Restricts the answer to pages of the account's origins. */
export function allowOrigins(request: FastifyRequest, reply: FastifyReply, origins: readonly string[]): void {
	if (origins.length === 0) return;
	reply.header('vary', 'origin');
	const { origin } = request.headers;
	if (origin !== undefined && origins.includes(origin)) reply.header('access-control-allow-origin', origin);
	else reply.removeHeader('access-control-allow-origin');
}

/**
 * Lets a page of another origin send and receive cookies, if the account names the origin: one that names none has not said
 * whose pages these are. @returns whether it may
 */
export function allowCredentials(
	request: FastifyRequest,
	reply: FastifyReply,
	origins: readonly string[],
): boolean {
	const { origin } = request.headers;
	if (origin === undefined || !origins.includes(origin)) return false;
	reply.header('access-control-allow-credentials', 'true');
	return true;
}

/** Answers CORS preflight requests. */
export function preflight(app: FastifyInstance, url: string, methods: string): void {
	const answer = (_request: FastifyRequest, reply: FastifyReply) => {
		allowAllOrigins(reply);
		reply
			.code(204)
			.headers({
				allow: `${methods}, OPTIONS`,
				'access-control-allow-methods': methods,
				'access-control-allow-headers': 'content-type',
				'access-control-max-age': preflightSeconds,
			})
			.send();
	};
	// In `onRequest`, so that the framework does not reject the preflight for its body or media type.
	app.options(url, { onRequest: answer }, answer);
}
