import type { FastifyInstance } from 'fastify';
import { Type } from '../schema/type.ts';
import { mapMaybePromise } from '../segments/visitor-reads.ts';
import { about, describeRead, included, type ReadOptions, read } from './reads.ts';

const segmentSchema = Type.Object({
	id: Type.String({ description: 'Does not change when the name does.' }),
	name: Type.String(),
});

const assignmentSchema = Type.Object({
	experiment: Type.String({ description: 'Its name.' }),
	group: Type.Union([Type.Literal('treated'), Type.Literal('holdout')]),
});

const example = {
	aid: 'c-a-acme-uk',
	vid: '0f6f3b2c9a1d4e5f8a7b6c5d4e3f2a1b',
	segments: [{ id: 'high-intent', name: 'High intent' }],
	evaluatedAt: '2026-11-21T10:00:00.000Z',
	expiresAt: '2026-11-22T09:58:12.000Z',
};

/** `GET /visscores/segments`, and `/segments`: the segments that a visitor, or a visit, is in (spec section 4.3). */
export function segments(app: FastifyInstance, { authorizer, reads, now }: ReadOptions): void {
	read(app, authorizer, {
		name: 'getSegments',
		paths: ['/visscores/segments', '/segments'],
		schema: describeRead({
			operationId: 'getSegments',
			summary: 'Retrieve segment data',
			description:
				'The current segments of the visitor. `/segments` answers the same. Empty if nothing is known about the visitor.',
			fields: {
				segments: Type.Array(segmentSchema),
				experiments: Type.Optional(
					Type.Array(assignmentSchema, {
						description:
							'Running experiments about segments whose rule the visitor fulfils; with `include=experiments`, if the account allows it.',
					}),
				),
				evaluatedAt: Type.String({ format: 'date-time' }),
			},
			parameters: {
				include: Type.Optional(
					Type.String({
						description: '`experiments` requests the groups of the visitor.',
						examples: ['experiments'],
					}),
				),
			},
			example,
		}),
		body: (authorization, query) =>
			mapMaybePromise(reads.segments(authorization), ({ segments, experiments }) => ({
				...about(authorization),
				segments,
				...(included(query).includes('experiments') &&
					authorization.account.tellsExperiments && { experiments }),
				evaluatedAt: new Date(now()).toISOString(),
				expiresAt: authorization.expiresAt,
			})),
	});
}
