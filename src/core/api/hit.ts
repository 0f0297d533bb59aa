import type { FastifyInstance } from 'fastify';
import { sendJson } from '../http/answer.ts';
import { askForBody, checkBodyHeaders, parseJson } from '../http/body.ts';
import { preflight } from '../http/cors.ts';
import { describeErrors, requestIdHeader, withoutLimits } from '../http/openapi.ts';
import { hitSchema } from '../schema/hit-request.ts';
import { Type } from '../schema/type.ts';
import type { HitHandler } from './hit-handler.ts';

/** Maximum size of a hit's body, in bytes. */
const hitLimitBytes = 16 * 1024;

const answerSchema = Type.Object({
	vid: Type.String({ description: 'The visitor: send it with the next hit.' }),
	sid: Type.String({ description: 'The visit: send it with the next hit.' }),
	firstVid: Type.Optional(
		Type.String({
			description:
				'The visitor that this browser was first, only where it is another one: send it, too, with the next hit.',
		}),
	),
	hasCookies: Type.Optional(
		Type.Boolean({
			description:
				"True where the hit came from the page's own site, and the answer sets the cookies of the visitor: the page need not.",
		}),
	),
	ignored: Type.Optional(
		Type.String({
			description: 'The wrong values of the hit, which were not stored, and what would be right.',
		}),
	),
	cask: Type.Optional(Type.String({ description: 'Gives access to scores and segments for 24 hours.' })),
	caskExpiresAt: Type.Optional(Type.String({ format: 'date-time' })),
});

const description = {
	operationId: 'collectHit',
	// Pages send hits, and a page has no secret.
	security: [],
	tags: ['Visitors'],
	summary: 'Collect a hit',
	description:
		'Stores what happened on a page, durably, and returns the visitor. `text/plain`, which beacons send, is accepted too. The header `x-hit-stored` is 0 for bots, whose hits are not stored. Requested parts that fail, such as scores that cannot be read, are left out of the answer.',
	querystring: Type.Object({
		include: Type.Optional(
			Type.String({
				description:
					'`scores`, `segments`, `experiments` or some of them, separated by commas: adds them to the answer; `experiments` if the account allows it.',
			}),
		),
		scope: Type.Optional(
			Type.Union([Type.Literal('vid'), Type.Literal('sid')], {
				description: 'What the cask gives access to: the visitor, or only the visit.',
				default: 'vid',
			}),
		),
	}),
	body: hitSchema,
	response: {
		200: {
			description: 'Stored.',
			headers: { 'x-request-id': requestIdHeader },
			content: {
				'application/json': {
					schema: answerSchema,
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
				invalid_hit: ['aid is required'],
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

/** `POST /hit`: what happens on pages, from pages. @param sitePath where a site wants the same */
export function hit(app: FastifyInstance, handler: HitHandler, sitePath?: string): void {
	const path = sitePath ?? '/hit';
	app.post(path, {
		config: { operation: 'collectHit' },
		bodyLimit: hitLimitBytes,
		schema: sitePath === undefined ? description : {},
		onRequest: (request, reply, done) => {
			handler.admit(request, reply);
			checkBodyHeaders(request.headers, { maxBytes: hitLimitBytes, plainText: true });
			askForBody(request, reply);
			done();
		},
		handler: async (request, reply) => {
			const body = parseJson(request.body as Buffer | undefined);
			const collected = await handler.collect(request, reply, body);
			const answer = await handler.answer(collected, request);
			sendJson(reply, 200, JSON.stringify(answer));
			return reply;
		},
	});
	preflight(app, path, 'POST');
}
