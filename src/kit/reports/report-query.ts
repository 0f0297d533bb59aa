import { type EventKind, eventKinds } from '../../core/domain/event-kind.ts';
import type { RenewalDays } from '../../core/domain/subscription-cadence.ts';
import { type EventLabel, eventLabelNames, eventLabels } from '../../core/domain/subscription-event.ts';
import { type TouchDimension, touchDimensions, touchNames } from '../../core/domain/touch.ts';
import { OperatorError } from '../../core/errors.ts';
import type { Account } from '../../core/store/control/account-store.ts';
import { day, pastMoment, positiveNumber, storableText, wholeNumber } from '../format/values.ts';
import {
	type AttributionModel,
	attributionModels,
	defaultHalfLifeDays,
	defaultModel,
	type OneTouchModel,
	oneTouchModels,
} from './attribution-model.ts';
import { type SpanLength, spanLengths } from './calendar.ts';
import type { Basis } from './journey.ts';
import { type Dimension, type Grouping, isOfTouches, planDimensions } from './label.ts';
import { defaultLookbackDays } from './path.ts';

/** The account that a report is about. */
export type ReportedAccount = Pick<
	Account,
	| 'id'
	| 'aid'
	| 'timezone'
	| 'paymentProviders'
	| 'renewalDays'
	| 'graceDays'
	| 'cancellationEvt'
	| 'currency'
>;

/** What of an account reports need. It is passed to a thread, so that it is no more. */
export function reportedAccount(account: ReportedAccount): ReportedAccount {
	const { id, aid, timezone, paymentProviders, renewalDays, graceDays, cancellationEvt, currency } = account;
	return { id, aid, timezone, paymentProviders, renewalDays, graceDays, cancellationEvt, currency };
}

/** How a value is written. */
interface Notation<Value> {
	/** What the command calls the value; with `...`, it takes several, which are put together. */
	readonly value?: string;
	/** @throws OperatorError */
	readonly parse: (text: string, nowMs: number) => Value;
}

/** A parameter of reports, over HTTP and as a flag of the command. Without `value`, the flag turns something off. */
interface Parameter<Value> extends Notation<Value> {
	/** What it is, as the beginning of a sentence in lower case. */
	readonly text: string;
	readonly initial: Value;
	/** What holds if it is not given; undefined where that is plain. */
	readonly otherwise: string | undefined;
}

function parameter<Value>(
	text: string,
	initial: Value,
	notation: Notation<Value>,
	otherwise = initial === null || initial === true ? undefined : String(initial),
): Parameter<Value> {
	return { text, initial, otherwise, ...notation };
}

const days = { value: 'day', parse: day };
const times = { value: 'time', parse: pastMoment };
const names = { value: 'name', parse: (name: string) => name };
const wholeNumbers = (max: number) => ({ value: 'number', parse: wholeNumber(1, max) });

function filter(text: string, notation = names): Parameter<string | null> {
	return parameter<string | null>(`only subscriptions ${text}`, null, notation);
}

const labelFilters = Object.fromEntries(
	eventLabelNames.map((name) => [
		name,
		filter(`whose first event has this ${eventLabels[name]}; refunds count only if there is nothing else`),
	]),
) as Record<EventLabel, Parameter<string | null>>;

const touchFilters = Object.fromEntries(
	touchDimensions.map((name) => [name, filter(`with a touch of this ${touchNames[name]} in their path`)]),
) as Record<TouchDimension, Parameter<string | null>>;

const dimensions: readonly Dimension[] = [...touchDimensions, ...planDimensions];
const oneOrTwo = `one or two of ${touchDimensions.join(', ')}`;
const some = `some of ${attributionModels.join(', ')}, separated by commas`;

/** What a subscription's recurring revenue has done, or may do. */
export const movements = [
	...(['new', 'reactivated', 'expansion', 'contraction', 'ended', 'cancelled', 'lapsed'] as const),
	'at-risk',
] as const;
export type MovementKind = (typeof movements)[number];

/** What a report is compared with. */
const comparisons = ['previous', 'year'] as const;
type ComparedWith = (typeof comparisons)[number];

/** All parameters, in the order of the command's flags. */
export const parameters = {
	from: parameter<string | null>("the first day, in the report's time zone, such as 2026-01-31", null, days),
	to: parameter<string | null>('the day after the last one', null, days),
	/** In milliseconds since 1970. */
	asOf: parameter<number | null>(
		'a past time in UTC, such as 2026-11-21 or 2026-11-21T10:30:00Z. Nothing later is used',
		null,
		times,
	),
	timezone: parameter<string | null>(
		'time zone of days and months, such as Europe/London',
		null,
		names,
		"the account's",
	),
	compare: parameter<ComparedWith | null>(
		'also the same report for an earlier period, as it was known then: `previous`, the one just before, or `year`, 52 weeks earlier, so that weekdays match. Calendar months are compared with calendar months',
		null,
		{ value: 'with', parse: oneOf(comparisons) },
	),
	by: parameter<Grouping>(
		`${oneOrTwo}, separated by a comma, or none. Reports on renewals also take ${planDimensions.join(' and ')}`,
		['channel'],
		{ value: 'dimensions', parse: grouping },
		'channel; none in movement and retention',
	),
	every: parameter<SpanLength | null>(
		`a row for each ${spanLengths.join(', ')}`,
		null,
		{ value: 'span', parse: oneOf(spanLengths) },
		'month in movement, the whole period in attribution and trials',
	),
	model: parameter<readonly AttributionModel[]>(`${some}, or all`, [defaultModel], {
		value: 'models',
		parse: models,
	}),
	basis: parameter<Basis>(
		'`event` counts what happened in the period, `cohort` all events of the subscriptions that began in it',
		'event',
		{ value: 'basis', parse: oneOf(['event', 'cohort']) },
	),
	having: parameter<EventKind | null>(
		'only subscriptions with such an event in the period: trial, acquisition, renewal, refund or cancellation',
		null,
		{ value: 'event', parse: oneOf(eventKinds) },
	),
	credited: parameter<OneTouchModel | null>(
		'only subscriptions for which this model credits a touch with the chosen properties: first, last or last-non-direct',
		null,
		{ value: 'model', parse: oneOf(oneTouchModels) },
	),
	moved: parameter<MovementKind | null>(
		'only subscriptions that changed in this way in the period: new, reactivated, expansion, contraction, or ended (or only some of these: cancelled, lapsed); or `at-risk`, those at risk now',
		null,
		{ value: 'movement', parse: oneOf(movements) },
	),
	lookbackDays: parameter(
		'how many days before conversion a touch may be credited',
		defaultLookbackDays,
		wholeNumbers(3650),
	),
	halfLifeDays: parameter('half-life of the model decay, in days', defaultHalfLifeDays, {
		value: 'number',
		parse: positiveNumber(3650),
	}),
	intervals: parameter('leave out the intervals of the model markov, which take most of the time', true, {
		parse: switched,
	}),
	...labelFilters,
	...touchFilters,
	segment: filter('whose visitor is in this segment, by its id', { ...names, value: 'id' }),
	/** Days between renewals, by `evt`. */
	period: parameter<RenewalDays>(
		'days from one renewal to the next, such as newsletter=30,gift=365',
		{},
		{ value: 'evt=days...', parse: renewalPeriods },
		"the account's, else each subscription's own",
	),
	goal: parameter<string | null>('only this goal', null, names, 'all goals'),
	experiment: parameter<string | null>('the experiment', null, names, 'the newest'),
	cost: parameter(
		"what it costs to treat one visitor, in pence, or the minor unit of the account's currency",
		1,
		{
			...wholeNumbers(1e9),
			value: 'pence',
		},
	),
	value: parameter(
		"what it is worth if a treated visitor reaches the goal, in pence, or the minor unit of the account's currency",
		100,
		{
			...wholeNumbers(1e9),
			value: 'pence',
		},
	),
	days: parameter('how many days to look ahead', 90, wholeNumbers(366), '90 in forecast, 7 in funnel'),
	months: parameter('number of months after the acquisition to show', 24, wholeNumbers(1200)),
	include: parameter<'gateways' | null>(
		'`gateways` also counts mail gateways, which are otherwise left out',
		null,
		{ value: 'whom', parse: oneOf(['gateways'] as const) },
	),
	top: parameter('number of paths, or pages, to show', 20, wholeNumbers(10_000)),
};

export type ReportParameter = keyof typeof parameters;
export const parameterNames = Object.keys(parameters) as ReportParameter[];

/** The parameters of a report. Plain data, because it is passed to a thread. */
export type ReportQuery = { readonly kind: string } & {
	readonly [Name in ReportParameter]: (typeof parameters)[Name]['initial'];
};

/** Parameters of all reports. */
export const commonParameters = ['from', 'to', 'asOf', 'timezone', 'compare', ...eventLabelNames] as const;
/** Parameters of reports on paths: events without a visitor have none. */
export const pathParameters: readonly ReportParameter[] = [
	...commonParameters,
	'by',
	'lookbackDays',
	...touchDimensions,
	'segment',
];
/** Parameters that choose subscriptions. They are part of what a report says. */
export const filters: readonly ReportParameter[] = [...eventLabelNames, ...touchDimensions, 'segment'];

/** What a report takes. */
export interface TakesParameters {
	readonly kind: string;
	/** A parameter without effect is refused, since somebody expects one. */
	readonly parameters: readonly ReportParameter[];
	/** Whether it groups by what is known of subscriptions without touches, too. */
	readonly knowsPlans?: boolean;
	/** Values of parameters that are not given, where they differ from those of other reports. */
	readonly initial?: Partial<ReportQuery>;
	/** Refuses values that the report has no use for. @throws OperatorError */
	check?(given: Partial<ReportQuery>): void;
}

/** A report's parameters where some are given. */
export function queryOf({ kind, initial }: TakesParameters, given: Partial<ReportQuery>): ReportQuery {
	const general = Object.entries(parameters).map(([name, one]) => [name, one.initial]);
	return { ...(Object.fromEntries(general) as ReportQuery), kind, ...initial, ...given };
}

/** Refuses values that a report cannot use. @throws OperatorError */
export function checkGiven(report: TakesParameters, given: Partial<ReportQuery>): void {
	const plans = given.by?.filter((name) => !isOfTouches(name)) ?? [];
	if (plans.length > 0 && !report.knowsPlans)
		throw new OperatorError(
			`The report ${report.kind} is about touches, which have no ${plans.join(' and no ')}. It groups by ${oneOrTwo}.`,
		);
	report.check?.(given);
}

/** Reads the parameters in a URL. @throws OperatorError that names every parameter that is wrong */
export function readQuery(
	report: TakesParameters,
	texts: Readonly<Record<string, string | readonly string[] | undefined>>,
	nowMs: number,
): ReportQuery {
	const problems: string[] = [];
	let given: Partial<ReportQuery> = {};
	for (const [name, text] of Object.entries(texts)) {
		if (text === undefined) continue;
		try {
			const value = readParameter(report, name, text, nowMs);
			checkGiven(report, value);
			given = { ...given, ...value };
		} catch (error) {
			if (!(error instanceof OperatorError)) throw error;
			problems.push(`${name}: ${error.message}`);
		}
	}
	if (problems.length > 0) throw new OperatorError(problems.join('; '));
	return queryOf(report, given);
}

function readParameter(
	{ kind, parameters: own }: TakesParameters,
	name: string,
	text: string | readonly string[],
	nowMs: number,
): Partial<ReportQuery> {
	// Ignored, a mistyped filter would give a report of everything.
	const known = parameterNames.find((each) => each === name);
	if (!known) throw new OperatorError('There is no such parameter.');
	if (!own.includes(known)) throw new OperatorError(`The report ${kind} does not use it.`);
	if (typeof text !== 'string') throw new OperatorError('It must be given only once.');
	if (text === '') throw new OperatorError('It must not be empty.');
	return { [known]: parameters[known].parse(storableText(text), nowMs) };
}

/** One or two dimensions separated by a comma, or `none`. */
function grouping(value: string): Grouping {
	if (value === 'none') return [];
	const names = value.split(',');
	if (names.length > 2 || new Set(names).size < names.length || !areOf(dimensions, names))
		throw new OperatorError(`It must be none, or ${oneOrTwo}, such as channel,campaign.`);
	return names as Dimension[];
}

function models(value: string): readonly AttributionModel[] {
	if (value === 'all') return attributionModels;
	const names = [...new Set(value.split(','))];
	if (!areOf(attributionModels, names)) throw new OperatorError(`It must be all, or ${some}.`);
	return names as AttributionModel[];
}

function areOf(known: readonly string[], names: readonly string[]): boolean {
	return names.every((name) => known.includes(name));
}

function oneOf<Name extends string>(names: readonly Name[]): (value: string) => Name {
	return (value) => {
		const name = names.find((each) => each === value);
		if (name === undefined) throw new OperatorError(`It must be ${names.join(' or ')}.`);
		return name;
	};
}

function switched(value: string): boolean {
	if (value !== '0' && value !== '1') throw new OperatorError('It must be 0 or 1.');
	return value === '1';
}

/** Event types with the days that a renewal may be late, as `newsletter=21`. @throws OperatorError */
export function gracePeriods(value: string): Readonly<Record<string, number>> {
	const [, evt = '', days] = /^(.+)=(\d{1,3})$/.exec(value) ?? [];
	if (days === undefined)
		throw new OperatorError('It must be an event type and a number of days, such as newsletter=21.');
	return { [evt]: Number(days) };
}

/** Event types with the days between renewals, as `newsletter=30,gift=365`. */
export function renewalPeriods(value: string): RenewalDays {
	// An event type may contain a comma, too.
	const periods = value.split(/(?<==(?:\d+|never)),/).map((one) => {
		const [, evt = '', days] = /^(.+)=(\d{1,4}|never)$/.exec(one) ?? [];
		if (days !== 'never' && !(Number(days) > 0))
			throw new OperatorError(
				'It must be an event type and a number of days, such as newsletter=30, or never, such as lifetime=never.',
			);
		return [evt, days === 'never' ? days : Number(days)];
	});
	return Object.fromEntries(periods);
}
