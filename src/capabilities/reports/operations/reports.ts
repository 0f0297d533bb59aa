import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { AccessDirectory } from '../../../core/access/directory.ts';
import {
	type AdmittedRequest,
	accountOf,
	type KeyOperationOptions,
	keyOperation,
	readErrors,
} from '../../../core/api/key-operation.ts';
import { storeFailed } from '../../../core/api/store-failed.ts';
import { ApiError, OperatorError } from '../../../core/errors.ts';
import { sendJson } from '../../../core/http/answer.ts';
import { describeErrors, describeJson } from '../../../core/http/openapi.ts';
import { Type } from '../../../core/schema/type.ts';
import type { OpenStore } from '../../../core/store/store.ts';
import { capitalised } from '../../../kit/format/capitalised.ts';
import { compute } from '../../../kit/jobs/compute.ts';
import { reportKinds, reportOf } from '../../../kit/reports/all-reports.ts';
import type { ReportDefinition } from '../../../kit/reports/report.ts';
import { parameters, readQuery, reportedAccount } from '../../../kit/reports/report-query.ts';
import { ReportRunner } from '../report-runner.ts';
import { whenAbandoned } from './abandoned.ts';

interface ReportOptions extends KeyOperationOptions {
	readonly directory: AccessDirectory;
	readonly store: OpenStore;
	readonly now: () => number;
}

/** `GET /reports/…`: reports of an account, for programs with a key that may read. */
export function reportOperations(app: FastifyInstance, options: ReportOptions): void {
	const { place } = options.store;
	const runner = new ReportRunner((account, query, signal) =>
		compute(place, { type: 'report', account, query }, { signal }),
	);
	for (const kind of reportKinds())
		keyOperation(app, options, {
			method: 'GET',
			url: `/reports/${kind}`,
			name: `read${capitalised(kind)}Report`,
			scope: 'read',
			takes: 'rate and quota',
			description: async () => describe(await reportOf(kind)),
			handle: async (request, reply, admitted) => handle(await reportOf(kind), request, reply, admitted),
		});

	async function handle(
		definition: ReportDefinition,
		request: FastifyRequest,
		reply: FastifyReply,
		admitted: AdmittedRequest,
	): Promise<FastifyReply> {
		const { aid: named, ...texts } = request.query as Readonly<Record<string, string | readonly string[]>>;
		if (named === undefined) throw invalid('aid is required');
		const account = accountOf(named, admitted, options.directory);
		if (!account) throw invalid('aid must be the token of one account');
		const { clientId, aid } = account;
		let abandoned: AbortSignal | undefined;
		try {
			const query = readQuery(definition, texts, options.now());
			abandoned = whenAbandoned(request, reply);
			const report = await runner.run(clientId, reportedAccount(account), query, abandoned);
			if (!reply.sent) sendJson(reply, 200, report);
		} catch (error) {
			if (error instanceof OperatorError) throw invalid(error.message);
			if (!abandoned?.aborted) storeFailed(aid)(error);
			admitted.deadline.clear();
		}
		return reply;
	}
}

/** Its entry in the OpenAPI document. */
function describe(definition: ReportDefinition): object {
	return {
		tags: ['Reports'],
		summary: capitalised(definition.summary),
		description: `${definition.definition}

Uses one request of rate and quota. The key must have been issued with \`--scope read\`. Amounts are whole pence. \`docs/reference/reports.md\` has the formula of every figure. For servers, not for browsers.`,
		querystring: querySchema(definition),
		response: {
			200: describeJson('The report.', reportSchema, exampleReport),
			...describeErrors({
				invalid_report: ['from: 2026-02-30 is not a date; write it like 2026-01-31.'],
				invalid_account: ['No account c-a-x is available to this API key.'],
				...readErrors,
			}),
		},
	};
}

function invalid(detail: string): ApiError {
	return new ApiError('invalid_report', { detail });
}

function querySchema(definition: ReportDefinition) {
	const own = definition.parameters.map((name) => {
		const { text, otherwise, value } = parameters[name];
		const sentence = value === undefined ? `\`0\` to ${text}.` : `${capitalised(text)}.`;
		const description = otherwise === undefined ? sentence : `${sentence} Default: ${otherwise}.`;
		return [name, Type.Optional(Type.String({ description }))];
	});
	return Type.Object({
		aid: Type.String({ description: 'Account token of the client.' }),
		...Object.fromEntries(own),
	});
}

const reportSchema = Type.Object({
	aid: Type.String({ description: 'The account.' }),
	from: Type.Union([Type.String(), Type.Null()]),
	to: Type.Union([Type.String(), Type.Null()]),
	asOf: Type.String({ format: 'date-time', description: 'The moment of the report.' }),
	timezone: Type.String({ description: 'Time zone of days and months.' }),
	currency: Type.String({ description: 'What amounts are in the minor unit of.' }),
	answer: Type.Optional(
		Type.Union([Type.String(), Type.Null()], {
			description: 'What the report says, in a sentence or two. Its words may change with any version.',
		}),
	),
	rows: Type.Array(Type.Object({}, { additionalProperties: {} }), { description: 'One object per row.' }),
});

const exampleReport = {
	aid: 'c-a-acme-uk',
	from: '2026-01-01',
	to: '2026-02-01',
	asOf: '2026-11-21T10:00:00.000Z',
	timezone: 'Europe/London',
	currency: 'GBP',
	answer: null,
	rows: [],
};
