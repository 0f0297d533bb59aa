import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { type ErrorCode, errorBody, errorTable } from '../errors.ts';

const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'));

const requestIdHeader = { type: 'string', description: 'Names the request in the logs.' };
export const describeLimits = {
	'ratelimit-policy': {
		type: 'string',
		description: "The key's limits, as the IETF draft RateLimit header fields write them.",
	},
	ratelimit: { type: 'string', description: 'What is left of them.' },
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
				description: 'Events whose tid was stored before; they are not stored again.',
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

const docsPage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Caskade HTTP API</title>
<link rel="stylesheet" href="docs/swagger-ui.css">
<div id="reference"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</html>
`;

/** The service refuses browsers, so the page offers no "try it out". */
const docsScript = `SwaggerUIBundle({
	url: 'openapi.json', dom_id: '#reference', deepLinking: true, docExpansion: 'full',
	supportedSubmitMethods: [], validatorUrl: null,
});
`;

/** `GET /docs`: the reference, drawn by Swagger UI from files of its package; no network but this server is used. */
export function docs(app: FastifyInstance): void {
	const folder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
	const file = (name: string) => () => readFileSync(join(folder, name));
	const pages: [path: string, type: string, content: () => string | Buffer][] = [
		['/docs', 'text/html; charset=utf-8', () => docsPage],
		['/docs/start.js', 'text/javascript; charset=utf-8', () => docsScript],
		['/docs/swagger-ui.css', 'text/css; charset=utf-8', file('swagger-ui.css')],
		['/docs/swagger-ui-bundle.js', 'text/javascript; charset=utf-8', file('swagger-ui-bundle.js')],
	];
	for (const [path, type, read] of pages) {
		let content: string | Buffer | undefined;
		app.get(path, { schema: { hide: true } }, (_request, reply) => {
			content ??= read();
			reply
				.headers({
					'content-type': type,
					'content-security-policy':
						"default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'",
					'x-content-type-options': 'nosniff',
				})
				.send(content);
		});
	}
}
