import type { FastifyInstance } from 'fastify';
import { type ErrorCode, errorBody, errorTable } from '../errors.ts';
import { type ObjectSchema, type Schema, Type } from '../schema/type.ts';
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

declare module 'fastify' {
	interface FastifySchema {
		/** Routes without it are not documented. */
		operationId?: string;
		security?: readonly object[];
		/** The rest of its schema, where that is loaded when the document is asked for. */
		describe?: () => Promise<object>;
	}
}

/** What a documented operation says of itself, as its route's schema. */
interface OperationDescription {
	readonly operationId: string;
	readonly body?: Schema;
	readonly querystring?: ObjectSchema;
	readonly params?: ObjectSchema;
	readonly response: Readonly<Record<string, { readonly headers: object }>>;
	readonly describe?: () => Promise<object>;
	readonly [other: string]: unknown;
}

/** Collects the operations that are added after it, under `prefix`, into `GET /openapi.json`. */
export function openapi(app: FastifyInstance, prefix: string): void {
	const described: { path: string; method: string; operation: OperationDescription }[] = [];
	app.addHook('onRoute', ({ url, method, schema }) => {
		if (schema?.operationId === undefined || method === 'HEAD') return;
		const path = url.slice(prefix.length).replaceAll(/:(\w+)/g, '{$1}');
		const operation = schema as OperationDescription;
		described.push({ path, method: String(method).toLowerCase(), operation });
	});
	app.get(`${prefix}/openapi.json`, async (request, reply) => {
		// Made when it is asked for: few ask, and it takes memory.
		const paths: Record<string, Record<string, object>> = {};
		for (const { path, method, operation } of described) {
			const { describe, ...known } = operation;
			const whole = { ...known, ...(await describe?.()) } as OperationDescription;
			paths[path] = { ...paths[path], [method]: documented(whole) };
		}
		const document = {
			openapi: '3.1.0',
			info: {
				title: 'Caskade',
				version,
				description: 'Stores subscription events and serves visitor scores and segments.',
				license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
			},
			components: {
				securitySchemes: {
					apiKey: {
						type: 'apiKey',
						in: 'header',
						name: 'x-api-key',
						description: 'Issued to a client by the operator; tied to a usage plan.',
					},
					cask: {
						type: 'apiKey',
						in: 'query',
						name: 'cask',
						description:
							'Attribution signing key: from the answer to a hit, of one visitor or visit, for 24 hours.',
					},
				},
			},
			paths,
			// The paths of the operations are listed without the prefix.
			servers: [{ url: `${request.protocol}://${request.host}${prefix}` }],
		};
		return reply.header('content-type', 'application/json; charset=utf-8').send(JSON.stringify(document));
	});
}

function documented({ body, querystring, params, response, ...operation }: OperationDescription): object {
	const parameters = [...parametersIn('query', querystring), ...parametersIn('path', params)];
	return {
		...operation,
		...(body && {
			requestBody: {
				required: true,
				description: body.description,
				content: { 'application/json': { schema: body } },
			},
		}),
		...(parameters.length > 0 && { parameters }),
		responses: Object.fromEntries(
			Object.entries(response).map(([status, { headers, ...answer }]) => [
				status,
				{ ...answer, headers: withSchemas(headers) },
			]),
		),
	};
}

function parametersIn(place: 'query' | 'path', schema: ObjectSchema | undefined): object[] {
	return Object.entries(schema?.properties ?? {}).map(([name, { description, examples, ...rest }]) => ({
		name,
		in: place,
		required: schema?.required?.includes(name) === true,
		description,
		schema: rest,
		...(Array.isArray(examples) && { example: examples[0] }),
	}));
}

function withSchemas(headers: object): object {
	return Object.fromEntries(
		Object.entries(headers).map(([name, { description, ...schema }]) => [name, { schema, description }]),
	);
}
