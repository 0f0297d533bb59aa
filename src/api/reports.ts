import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import Type from 'typebox';
import type { AccessDirectory } from '../access/directory.ts';
import { touchDimensions } from '../domain/touch.ts';
import { ApiError, OperatorError } from '../errors.ts';
import { whenAbandoned } from '../http/abandoned.ts';
import { sendJson } from '../http/answer.ts';
import { describeErrors, describeJson } from '../http/openapi.ts';
import { attributionModels } from '../reports/model.ts';
import {
	checkGrouping,
	day,
	defaultQuery,
	grouping,
	models,
	parametersOf,
	type ReportKind,
	type ReportParameter,
	type ReportQuery,
	renewalPeriod,
	reportKinds,
	usesParameter,
} from '../reports/report-query.ts';
import type { ReportRunner } from '../reports/report-runner.ts';
import {
	type Admitted,
	accountOf,
	type KeyOperationOptions,
	keyOperation,
	readErrors,
} from './key-operation.ts';
import { storeFailed } from './store-failed.ts';

export interface ReportOptions extends KeyOperationOptions {
	readonly directory: AccessDirectory;
	readonly reports: ReportRunner;
	readonly now: () => number;
}

const summaries: Readonly<Record<ReportKind, string>> = {
	attribution: 'What each channel is credited with',
	paths: 'The paths to subscriptions, and how long they took',
	ltv: 'What subscriptions earn, by month of acquisition',
	renewals: 'Who renews, and who is refunded',
	coverage: 'How many events are joined to a visitor',
	spend: 'What subscriptions have cost',
};

/** `GET /reports/…`: reports of an account, for programs with a key that may read. */
export function reports(app: FastifyInstance, options: ReportOptions): void {
	for (const kind of reportKinds)
		keyOperation(app, options, {
			method: 'GET',
			url: `/reports/${kind}`,
			name: `read${kind[0]?.toUpperCase()}${kind.slice(1)}Report`,
			scope: 'read',
			takes: 'rate and quota',
			description: {
				tags: ['Reports'],
				summary: summaries[kind],
				description:
					'Uses one request of rate and quota. The key must have been issued with `--scope read`. Amounts are whole pence. `docs/reports.md` has the formula of every figure. For servers, not for browsers.',
				querystring: querySchema(kind),
				response: {
					200: describeJson('The report.', reportSchema, exampleReport),
					...describeErrors({
						invalid_report: ['from: 2026-02-30 is not a date; write it like 2026-01-31.'],
						invalid_account: ['No account c-a-x is available to this API key.'],
						...readErrors,
					}),
				},
			},
			handle: (request, reply, admitted) => handle(kind, request, reply, admitted),
		});

	async function handle(
		kind: ReportKind,
		request: FastifyRequest,
		reply: FastifyReply,
		admitted: Admitted,
	): Promise<FastifyReply> {
		const query = request.query as Query;
		if (query.aid === undefined) throw invalid('aid is required');
		const account = accountOf(query.aid, admitted, options.directory);
		if (!account) throw invalid('aid must be the token of one account');
		const reportQuery = reportQueryOf(kind, query, options.now());
		const abandoned = whenAbandoned(request, reply);
		const { id, aid, timezone, paymentProviders } = account;
		const report = await options.reports
			.run(account.clientId, { id, aid, timezone, paymentProviders }, reportQuery, abandoned)
			.catch((error) => {
				if (error instanceof OperatorError) throw invalid(error.message);
				return abandoned.aborted ? null : storeFailed(aid)(error);
			});
		if (report === null) admitted.deadline.clear();
		else if (!reply.sent) sendJson(reply, 200, report);
		return reply;
	}
}

type Query = Readonly<Record<string, string | readonly string[] | undefined>>;

function invalid(detail: string): ApiError {
	return new ApiError('invalid_report', { detail });
}

/** How each parameter is read. */
const readers: Readonly<Record<ReportParameter, (value: string) => Partial<ReportQuery>>> = {
	from: (value) => ({ from: day(value) }),
	to: (value) => ({ to: day(value) }),
	asOf: (value) => ({ asOfMs: time(value) }),
	timezone: (value) => ({ timezone: value }),
	by: (value) => ({ by: grouping(value) }),
	model: (value) => ({ models: models(value) }),
	basis: (value) => {
		if (value !== 'event' && value !== 'cohort') throw new OperatorError('It must be event or cohort.');
		return { basis: value };
	},
	lookbackDays: (value) => ({ lookbackDays: whole(value, 3650) }),
	halfLifeDays: (value) => ({ halfLifeDays: positive(value, 3650) }),
	intervals: (value) => {
		if (value !== '0' && value !== '1') throw new OperatorError('It must be 0 or 1.');
		return { intervals: value === '1' };
	},
	evt: (value) => ({ evt: value }),
	channel: (value) => ({ channel: value }),
	segment: (value) => ({ segment: value }),
	period: (value) => ({ periodDays: Object.assign({}, ...value.split(',').map(renewalPeriod)) }),
	top: (value) => ({ top: whole(value, 10_000) }),
};

/** @throws ApiError `invalid_report` that names every parameter that is wrong */
function reportQueryOf(kind: ReportKind, query: Query, nowMs: number): ReportQuery {
	const problems: string[] = [];
	let reportQuery = defaultQuery(kind);
	for (const [name, value] of Object.entries(query)) {
		if (name === 'aid' || value === undefined) continue;
		const read = readers[name as ReportParameter];
		try {
			// Ignored, a mistyped filter would give a report of everything.
			if (!read) throw new OperatorError('There is no such parameter.');
			if (!usesParameter(kind, name)) throw new OperatorError(`The report ${kind} does not use it.`);
			if (typeof value !== 'string') throw new OperatorError('It must be given only once.');
			if (value === '') throw new OperatorError('It must not be empty.');
			const given = read(value);
			if (given.by) checkGrouping(kind, given.by);
			reportQuery = { ...reportQuery, ...given };
		} catch (error) {
			if (!(error instanceof OperatorError)) throw error;
			problems.push(`${name}: ${error.message}`);
		}
	}
	if (reportQuery.asOfMs !== null && reportQuery.asOfMs > nowMs)
		problems.push('asOf: It must be in the past.');
	if (problems.length > 0) throw invalid(problems.join('; '));
	return reportQuery;
}

function whole(value: string, max: number): number {
	if (/^\d{1,6}$/.test(value) && Number(value) >= 1 && Number(value) <= max) return Number(value);
	throw new OperatorError(`It must be a whole number from 1 to ${max}.`);
}

function positive(value: string, max: number): number {
	if (/^\d{1,4}(\.\d{1,6})?$/.test(value) && Number(value) > 0 && Number(value) <= max) return Number(value);
	throw new OperatorError(`It must be a number above 0 and at most ${max}.`);
}

/** A day means its beginning. */
function time(value: string): number {
	const ms = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?Z)?$/.test(value)
		? Date.parse(`${day(value.slice(0, 10))}${value.slice(10)}`)
		: Number.NaN;
	if (Number.isNaN(ms))
		throw new OperatorError('It must be a time in UTC such as 2026-11-21 or 2026-11-21T10:30:00Z.');
	return ms;
}

const text = (description: string) => Type.Optional(Type.String({ description }));
const parameters: Readonly<Record<ReportParameter, Type.TSchema>> = {
	from: text("The first day, in the report's time zone, such as 2026-01-31."),
	to: text('The day after the last one.'),
	asOf: text('A past time in UTC, such as 2026-11-21 or 2026-11-21T10:30:00Z. Nothing later is used.'),
	timezone: text("Time zone of days and months, such as Europe/London. Default: the account's."),
	by: text(`One or two of ${touchDimensions.join(', ')}, separated by a comma, or none. Default: channel.`),
	model: text(
		`Some of ${attributionModels.join(', ')}, separated by commas, or all. Default: last-non-direct.`,
	),
	basis: text(
		'`event` (default) counts what happened in the period, `cohort` all events of the subscriptions acquired in it.',
	),
	lookbackDays: text('How many days before conversion a touch may be credited. Default: 90.'),
	halfLifeDays: text('Half-life of the model decay, in days. Default: 7.'),
	intervals: text('`0` leaves out the intervals of the model markov.'),
	evt: text('Only subscriptions whose acquisition has this event type.'),
	channel: text('Only subscriptions with this channel in their path.'),
	segment: text('Only subscriptions whose visitor is in this segment, by its id.'),
	period: text('Days from one renewal to the next, such as newsletter=30,gift=365. Default: the median.'),
	top: text('Number of paths to show. Default: 20.'),
};

function querySchema(kind: ReportKind) {
	const own = parametersOf[kind].map((name) => [name, parameters[name]]);
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
	rows: Type.Array(Type.Record(Type.String(), Type.Unknown()), { description: 'One object per row.' }),
});

const exampleReport = {
	aid: 'c-a-acme-uk',
	from: '2026-01-01',
	to: '2026-02-01',
	asOf: '2026-11-21T10:00:00.000Z',
	timezone: 'Europe/London',
	rows: [],
};
