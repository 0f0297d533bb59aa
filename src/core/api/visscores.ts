import type { FastifyInstance } from 'fastify';
import { Type } from '../schema/type.ts';
import { mapMaybePromise } from '../segments/visitor-reads.ts';
import { about, describeRead, type ReadOptions, read } from './reads.ts';

const scoreSchema = Type.Object({
	goal: Type.String({ description: "One of the account's goals." }),
	score: Type.Number({
		description: 'The current probability that the goal is reached within its horizon.',
	}),
	lift: Type.Optional(
		Type.Number({
			description:
				'What being treated adds to that probability, from -1 to 1. Only where a model of lift is active, which an experiment with the goal has trained.',
		}),
	),
	percentile: Type.Number({ description: "Among the account's recent visitors, 0 to 100." }),
	band: Type.Union([Type.Literal('low'), Type.Literal('medium'), Type.Literal('high')]),
	model: Type.String({ description: 'The version of the model; `prior` if the base rate is served.' }),
	reasons: Type.Optional(
		Type.Array(Type.String(), {
			description:
				'Up to three facts in plain language that raise it, strongest first; with `explain=1`, if the account allows it.',
		}),
	),
});

const example = {
	aid: 'c-a-acme-uk',
	vid: '0f6f3b2c9a1d4e5f8a7b6c5d4e3f2a1b',
	scores: [{ goal: 'subscription', score: 0.4213, percentile: 93, band: 'high', model: '2026-11-21.1' }],
	scoredAt: '2026-11-21T10:00:00.000Z',
	expiresAt: '2026-11-22T09:58:12.000Z',
};

/** `GET /visscores`: the scores of a visitor, or of a visit (spec section 4.2). */
export function visscores(app: FastifyInstance, { authorizer, reads, now }: ReadOptions): void {
	read(app, authorizer, {
		name: 'getVisitorScores',
		paths: ['/visscores'],
		schema: describeRead({
			operationId: 'getVisitorScores',
			summary: 'Retrieve visitor scores',
			description: 'One score for each goal of the account. Empty if nothing is known about the visitor.',
			fields: { scores: Type.Array(scoreSchema), scoredAt: Type.String({ format: 'date-time' }) },
			parameters: {
				explain: Type.Optional(
					Type.String({ description: '`1` requests the reasons of each score.', examples: ['1'] }),
				),
			},
			example,
		}),
		body: (authorization, query) => {
			const explain = (query as { explain?: unknown }).explain === '1' && authorization.account.explains;
			return mapMaybePromise(reads.scores(authorization, explain), (scores) => ({
				...about(authorization),
				scores,
				scoredAt: new Date(now()).toISOString(),
				expiresAt: authorization.expiresAt,
			}));
		},
	});
}
