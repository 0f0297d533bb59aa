import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { type ErrorCode, errorBody, errorTable } from '../errors.ts';
import { version } from '../version.ts';

export const requestIdHeader = { type: 'string', description: 'Identifies the request in the logs.' };
export const describeLimits = {
	'ratelimit-policy': {
		type: 'string',
		description:
			"The key's limits, written as RateLimit header fields of the IETF draft. A client that waits w/q seconds of the rate between requests is never refused for it.",
	},
	ratelimit: {
		type: 'string',
		description: 'What is left of the limits: requests that would be admitted at once.',
	},
};

/** The body of an upload's answer and of every error. */
export const resultSchema = Type.Object({
	message: Type.String({ description: 'Outcome.' }),
	validationErrors: Type.Optional(
		Type.Union([Type.String(), Type.Null()], { description: 'Null on success.' }),
	),
});

export interface ResponseDescription {
	description: string;
	headers: Record<string, unknown>;
	content: Record<string, unknown>;
}

const keyErrors: readonly ErrorCode[] = ['forbidden'];
const waitErrors: readonly ErrorCode[] = ['rate_limit_exceeded', 'quota_exceeded', 'overloaded'];

/** Documents an operation's errors from the error table. Several errors may share a status. */
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

/** Documents a JSON answer to a request with an API key. */
export function describeJson(description: string, schema: object, example: object): ResponseDescription {
	return {
		description,
		headers: { 'x-request-id': requestIdHeader, ...describeLimits },
		content: { 'application/json': { schema, example } },
	};
}

/** For operations without an API key: their answers carry no rate-limit headers. */
export function withoutLimits(
	responses: Record<number, ResponseDescription>,
): Record<number, ResponseDescription> {
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
			// The paths of the operations are listed without the prefix.
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
