import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Authorization, Authorizer, ReadQuery } from '../access/authorizer.ts';
import { ApiError } from '../errors.ts';
import { sendError, sendJson } from '../http/answer.ts';
import { allowAllOrigins, allowOrigins, preflight } from '../http/cors.ts';
import type { VisitorReads } from '../segments/visitor-reads.ts';

export interface ReadOptions {
	readonly authorizer: Authorizer;
	readonly readings: VisitorReads;
	/** Milliseconds since 1970. */
	readonly now: () => number;
}

/** Adds an operation that gives a page what a cask opens. */
export function read(
	app: FastifyInstance,
	authorizer: Authorizer,
	operation: {
		readonly name: string;
		readonly paths: readonly string[];
		readonly schema: object;
		readonly body: (authorization: Authorization, query: ReadQuery) => object | Promise<object>;
	},
): void {
	function handle(request: FastifyRequest, reply: FastifyReply): void {
		const query = request.query as ReadQuery;
		const failed = (error: unknown) => {
			const account = authorizer.claimedAccount(query);
			allowOrigins(request, reply, account?.origins ?? []);
			// Straight to the answer: the framework's way with errors costs more than the rest of a denial.
			if (error instanceof ApiError) sendError(request, reply, error);
			else
				reply.send(
					new ApiError('internal', {
						detail: 'the store failed',
						...(account && { aid: account.aid }),
						cause: error,
					}),
				);
		};
		try {
			const authorization = authorizer.authorize(query);
			if (authorization instanceof ApiError) {
				failed(authorization);
				return;
			}
			allowOrigins(request, reply, authorization.account.origins);
			const body = operation.body(authorization, query);
			// Where the store answers at once, so does this.
			if (body instanceof Promise)
				body.then((late) => sendJson(reply, 200, JSON.stringify(late))).catch(failed);
			else sendJson(reply, 200, JSON.stringify(body));
		} catch (error) {
			failed(error);
		}
	}
	for (const [index, url] of operation.paths.entries()) {
		app.get(url, {
			config: { operation: operation.name },
			schema: index === 0 ? operation.schema : { hide: true },
			onRequest: (_request, reply, done) => {
				allowAllOrigins(reply);
				reply.header('cache-control', 'private, no-store');
				done();
			},
			handler: handle,
		});
		preflight(app, url, 'GET, HEAD');
	}
}

/** Whom an answer is about, as it begins. */
export function about({ aid, scope, subject }: Authorization): Record<string, string> {
	return { aid, [scope]: subject };
}
