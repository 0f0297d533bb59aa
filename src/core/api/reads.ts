import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Authorization, Authorizer, ReadQuery } from '../access/authorizer.ts';
import { ApiError } from '../errors.ts';
import { sendError, sendJson } from '../http/answer.ts';
import { allowAllOrigins, allowOrigins, preflight } from '../http/cors.ts';
import { describeErrors, requestIdHeader, withoutLimits } from '../http/openapi.ts';
import { type Schema, Type } from '../schema/type.ts';
import type { VisitorReads } from '../segments/visitor-reads.ts';
import { storeError } from './store-failed.ts';

export interface ReadOptions {
	readonly authorizer: Authorizer;
	readonly reads: VisitorReads;
	/** Milliseconds since 1970. */
	readonly now: () => number;
}

/** Adds an operation that serves a page the data of its cask. */
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
		const authorization = authorizer.authorize(query);
		if (authorization instanceof ApiError) {
			allowOrigins(request, reply, authorizer.originsOf(query));
			// Answers directly: the framework's error handling costs more than the rest of a denial.
			sendError(request, reply, authorization);
			return;
		}
		const { aid, account } = authorization;
		allowOrigins(request, reply, account.origins);
		const failed = (cause: unknown) => {
			reply.send(storeError(cause, aid));
		};
		try {
			const body = operation.body(authorization, query);
			// Synchronous where the store is.
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
			schema: index === 0 ? operation.schema : {},
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

const nothing: readonly string[] = [];

/** The names in a query's `include`. */
export function included(query: object): readonly string[] {
	const { include } = query as { include?: unknown };
	return include === undefined ? nothing : [include].join().split(/[, ]+/);
}

/** The beginning of an answer: its account, and the visitor or visit. */
export function about({ aid, scope, subject }: Authorization): Record<string, string> {
	return { aid, [scope]: subject };
}

/** Documents an operation that a page calls with its cask. */
export function describeRead(operation: {
	readonly operationId: string;
	readonly summary: string;
	readonly description: string;
	/** Fields of the answer, between the subject and the expiry. */
	readonly fields: Readonly<Record<string, Schema>>;
	/** Query parameters, besides those of every read. */
	readonly parameters: Readonly<Record<string, Schema>>;
	readonly example: object;
}): object {
	const id = (description: string) => Type.Optional(Type.String({ description }));
	const answer = Type.Object({
		aid: Type.String({ description: 'Account token of the client.' }),
		vid: id('The visitor, if the cask has the scope `vid`.'),
		sid: id('The visit instead of the visitor, if the cask has the scope `sid`.'),
		...operation.fields,
		expiresAt: Type.String({ format: 'date-time', description: 'When the cask expires.' }),
	});
	return {
		operationId: operation.operationId,
		security: [{ cask: [] }],
		tags: ['Visitors'],
		summary: operation.summary,
		description: operation.description,
		querystring: Type.Object({
			cask: Type.String({ description: 'Attribution signing key, from the answer to a hit.' }),
			aid: id("If given, it must be the cask's."),
			vid: id("If given, it must be the cask's."),
			sid: id("If given, it must be the cask's."),
			...operation.parameters,
		}),
		response: {
			200: {
				description: 'What the cask gives access to.',
				headers: { 'x-request-id': requestIdHeader },
				content: { 'application/json': { schema: answer, example: operation.example } },
			},
			...withoutLimits(
				describeErrors({ unauthorized: [], forbidden: [], internal: ['the store failed'], overloaded: [] }),
			),
		},
	};
}
