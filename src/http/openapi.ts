import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import Type, { type TProperties, type TSchema } from 'typebox';
import { type ErrorCode, errorBody, errorTable } from '../errors.ts';

const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'));

const requestIdHeader = { type: 'string', description: 'Names the request in the logs.' };
export const describeLimits = {
	'ratelimit-policy': {
		type: 'string',
		description:
			"The key's limits, as the IETF draft RateLimit header fields write them: who leaves w/q seconds of the rate between two requests is not refused.",
	},
	ratelimit: {
		type: 'string',
		description: 'What is left of them: requests that would be let in at once.',
	},
};

const resultSchema = Type.Object({
	message: Type.String({ description: 'Outcome.' }),
	validationErrors: Type.Optional(
		Type.Union([Type.String(), Type.Null()], { description: 'Null on success.' }),
	),
});

interface ResponseDescription {
	description: string;
	headers: Record<string, unknown>;
	content: Record<string, unknown>;
}

/** The documentation of a success, from the body that the operation sends. */
export function describeSuccess(description: string, body: string): ResponseDescription {
	return {
		description,
		headers: {
			'x-request-id': requestIdHeader,
			'x-events-stored': { type: 'integer', description: 'Events that were new.' },
			'x-events-duplicate': {
				type: 'integer',
				description:
					'Events whose tid was stored before, or comes earlier in the request; they are not stored again.',
			},
			'x-events-conflicting': {
				type: 'integer',
				description: 'Duplicates with other content than what is stored, which stays as it is.',
			},
			'x-duplicate-rows': {
				type: 'string',
				description:
					'Places in `data` of the duplicates, from 0; the first 100. Absent where there are none.',
				example: '3,7',
			},
			'x-conflicting-rows': {
				type: 'string',
				description: 'Those of them that conflict; the first 100. Absent where there are none.',
				example: '7',
			},
			...describeLimits,
		},
		content: { 'application/json': { schema: resultSchema, example: JSON.parse(body) } },
	};
}

const keyErrors: readonly ErrorCode[] = ['forbidden'];
const waitErrors: readonly ErrorCode[] = ['rate_limit_exceeded', 'quota_exceeded', 'overloaded'];

/** The documentation of an operation's errors, from the error table; several may share a status. */
export function describeErrors(
	errors: Partial<Record<ErrorCode, readonly string[]>>,
): Record<number, ResponseDescription> {
	const responses: Record<number, ResponseDescription> = {};
	for (const code of Object.keys(errors) as ErrorCode[]) {
		const { status, when } = errorTable[code];
		const example = { summary: when, value: JSON.parse(errorBody(code, errors[code]?.[0])) };
		const response = responses[status];
		if (response) {
			response.description += ` ${when}`;
			(response.content['application/json'] as { examples: Record<string, unknown> }).examples[code] =
				example;
			continue;
		}
		responses[status] = {
			description: when,
			headers: {
				'x-request-id': requestIdHeader,
				...(waitErrors.includes(code) && {
					'retry-after': { type: 'integer', description: 'Seconds to wait.' },
				}),
				...(!keyErrors.includes(code) && describeLimits),
			},
			content: { 'application/json': { schema: resultSchema, examples: { [code]: example } } },
		};
	}
	return responses;
}

/** The documentation of an operation that a page reads with its cask. */
export function describeRead(operation: {
	readonly operationId: string;
	readonly summary: string;
	readonly description: string;
	/** Of the answer, between whom it is about and when it expires. */
	readonly fields: TProperties;
	/** Of the query, besides those that every read has. */
	readonly parameters: TProperties;
	readonly example: object;
}): object {
	const id = (description: string) => Type.Optional(Type.String({ description }));
	const answer = Type.Object({
		aid: Type.String({ description: 'Account token of the client.' }),
		vid: id('The visitor; with a cask of the scope `vid`.'),
		sid: id('The visit, in place of the visitor; with a cask of the scope `sid`.'),
		...operation.fields,
		expiresAt: Type.String({ format: 'date-time', description: 'When the cask expires.' }),
	});
	return {
		operationId: operation.operationId,
		tags: ['Visitors'],
		summary: operation.summary,
		description: operation.description,
		querystring: Type.Object({
			cask: Type.String({ description: 'Attribution signing key, as the answer to a hit holds it.' }),
			aid: id("Must be the cask's, where given."),
			vid: id("Must be the cask's, where given."),
			sid: id("Must be the cask's, where given."),
			...operation.parameters,
		}),
		response: {
			200: {
				description: 'What the cask opens.',
				headers: { 'x-request-id': requestIdHeader },
				content: { 'application/json': { schema: answer, example: operation.example } },
			},
			...withoutLimits(describeErrors({ unauthorized: [], forbidden: [], internal: ['the store failed'] })),
		},
	};
}

/** The documentation of `POST /hit`. */
export function describeHit(body: TSchema): object {
	const answer = Type.Object({
		vid: Type.String({ description: 'The visitor: send it with the next hit.' }),
		sid: Type.String({ description: 'The visit: send it with the next hit.' }),
		cask: Type.Optional(Type.String({ description: 'Opens scores and segments for 24 hours.' })),
		caskExpiresAt: Type.Optional(Type.String({ format: 'date-time' })),
	});
	return {
		operationId: 'collectHit',
		tags: ['Visitors'],
		summary: 'Collect a hit',
		description:
			'Stores what happened on a page, durably, and answers who the visitor is. `text/plain` is taken, too, as beacons send it. The header `x-hit-stored` is 0 for bots, of which nothing is stored. What else was asked for and cannot be made, as scores that cannot be read, is left out of the answer.',
		querystring: Type.Object({
			include: Type.Optional(
				Type.String({ description: '`scores`, `segments` or both, with a comma: adds them to the answer.' }),
			),
			scope: Type.Optional(
				Type.Union([Type.Literal('vid'), Type.Literal('sid')], {
					description: 'What the cask opens: the visitor, or the visit alone.',
					default: 'vid',
				}),
			),
		}),
		body,
		response: {
			200: {
				description: 'Stored.',
				headers: { 'x-request-id': requestIdHeader },
				content: {
					'application/json': {
						schema: answer,
						example: {
							vid: '0f6f3b2c9a1d4e5f8a7b6c5d4e3f2a1b',
							sid: '5d1c6a7e8f9048b1a2c3d4e5f6a7b8c9',
							cask: 'eyJ…',
							caskExpiresAt: '2026-11-22T09:58:12.000Z',
						},
					},
				},
			},
			...withoutLimits(
				describeErrors({
					malformed_json: ['the body is empty'],
					invalid_hit: ['events[0].name is required'],
					invalid_account: ['There is no account c-a-x.'],
					forbidden: [],
					request_timeout: [],
					payload_too_large: ['the body may have at most 16384 bytes'],
					unsupported_media_type: ['content-type must be application/json or text/plain, in UTF-8'],
					rate_limit_exceeded: [],
					internal: ['the store failed; the hit is not stored'],
					overloaded: [],
				}),
			),
		},
	};
}

/** Of operations that have no key, answers tell of no limits. */
function withoutLimits(responses: Record<number, ResponseDescription>): Record<number, ResponseDescription> {
	for (const { headers } of Object.values(responses))
		for (const name of Object.keys(describeLimits)) delete headers[name];
	return responses;
}

/** Collects the routes that are added after it, under `prefix`, into `GET /openapi.json`. */
export async function openapi(app: FastifyInstance, prefix: string): Promise<void> {
	await app.register(swagger, {
		openapi: {
			openapi: '3.1.0',
			info: {
				title: 'Caskade',
				version,
				description: 'Stores subscription events and serves visitor scores and segments.',
				license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
			},
			// The operations' paths are told without it.
			servers: [{ url: prefix || '/' }],
			components: {
				securitySchemes: {
					apiKey: {
						type: 'apiKey',
						in: 'header',
						name: 'x-api-key',
						description: 'Issued to a client by the operator; tied to a usage plan.',
					},
				},
			},
		},
	});
	app.get(`${prefix}/openapi.json`, { schema: { hide: true } }, (request, reply) => {
		const servers = [{ url: `${request.protocol}://${request.host}${prefix}` }];
		const document = JSON.stringify({ ...app.swagger(), servers });
		reply.header('content-type', 'application/json; charset=utf-8').send(document);
	});
}
