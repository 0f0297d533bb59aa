import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** What a page of another origin may see of an answer besides its body. */
const exposedHeaders = 'x-request-id, retry-after, www-authenticate';
/** For so long a browser need not ask again before a request; most browsers take at most two hours. */
const preflightSeconds = '7200';

/**
 * Lets pages of all origins read an answer, without credentials. For answers where it is not known, or not yet, whose
 * data is asked for; those tell nothing of anybody.
 */
export function allowAllOrigins(reply: FastifyReply): void {
	reply.header('access-control-allow-origin', '*').header('access-control-expose-headers', exposedHeaders);
}

/** Whether the page that asks, if it is one, is of an origin that the account allows; without any named, all are. */
export function isAllowedOrigin(request: FastifyRequest, origins: readonly string[]): boolean {
	const { origin } = request.headers;
	return origin === undefined || origins.length === 0 || origins.includes(origin);
}

/** Leaves the answer to pages of the account's origins. */
export function allowOrigins(request: FastifyRequest, reply: FastifyReply, origins: readonly string[]): void {
	if (origins.length === 0) return;
	reply.header('vary', 'origin');
	const { origin } = request.headers;
	if (origin !== undefined && origins.includes(origin)) reply.header('access-control-allow-origin', origin);
	else reply.removeHeader('access-control-allow-origin');
}

/** Answers what a browser asks before a request that is not simple. */
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
	// Before the framework looks at a body, or at its type: whatever else it has, the question is answered.
	app.options(url, { schema: { hide: true }, onRequest: answer }, answer);
}
