import { type EventLabel, eventLabelNames, eventLabels } from '../domain/subscription-event.ts';
import { type TouchDimension, touchDimensions } from '../domain/touch.ts';
import { OperatorError } from '../errors.ts';
import { day, pastMoment, positiveNumber, wholeNumber } from '../format/values.ts';
import type { Basis } from './journey.ts';
import type { Grouping } from './label.ts';
import { type AttributionModel, attributionModels, defaultHalfLifeDays, defaultModel } from './model.ts';
import { defaultLookbackDays } from './path.ts';

/** The account that a report is about. */
export interface ReportedAccount {
	readonly id: number;
	readonly aid: string;
	readonly timezone: string;
	readonly paymentProviders: readonly string[];
}

/** A parameter of reports, over HTTP and as a flag of the command. */
interface Parameter<Value> {
	/** What it is, as the beginning of a sentence in lower case. */
	readonly text: string;
	/** What holds if it is not given, where its name and text do not say so. */
	readonly otherwise?: string;
	/** What the command calls its value; with `...`, it takes several, which are put together. Without one, it is a flag that turns something off: `0` over HTTP. */
	readonly value?: string;
	readonly initial: Value;
	/** @throws OperatorError */
	readonly parse: (value: string, nowMs: number) => Value;
}

function parameter<Value>(parameter: Parameter<Value>): Parameter<Value> {
	return parameter;
}

function filter(text: string, value = 'name'): Parameter<string | null> {
	return { text: `only ${text}`, value, initial: null, parse: (name) => name };
}

const labelFilters = Object.fromEntries(
	eventLabelNames.map((name) => [
		name,
		filter(`subscriptions whose acquisition has this ${eventLabels[name]}`),
	]),
) as Record<EventLabel, Parameter<string | null>>;

const oneOrTwo = `one or two of ${touchDimensions.join(', ')}`;
const some = `some of ${attributionModels.join(', ')}, separated by commas`;

/** All parameters, in the order of the command's flags. */
export const parameters = {
	from: parameter<string | null>({
		text: "the first day, in the report's time zone, such as 2026-01-31",
		...{ value: 'day', initial: null, parse: day },
	}),
	to: parameter<string | null>({
		text: 'the day after the last one',
		...{ value: 'day', initial: null, parse: day },
	}),
	/** In milliseconds since 1970. */
	asOf: parameter<number | null>({
		text: 'a past time in UTC, such as 2026-11-21 or 2026-11-21T10:30:00Z. Nothing later is used',
		...{ value: 'time', initial: null, parse: pastMoment },
	}),
	timezone: parameter<string | null>({
		text: 'time zone of days and months, such as Europe/London',
		...{ otherwise: "the account's", value: 'name', initial: null, parse: (name) => name },
	}),
	by: parameter<Grouping>({
		text: `${oneOrTwo}, separated by a comma, or none`,
		...{ otherwise: 'channel', value: 'dimensions', initial: ['channel'], parse: grouping },
	}),
	model: parameter<readonly AttributionModel[]>({
		text: `${some}, or all`,
		...{ otherwise: defaultModel, value: 'models', initial: [defaultModel], parse: models },
	}),
	basis: parameter<Basis>({
		text: '`event` counts what happened in the period, `cohort` all events of the subscriptions acquired in it',
		...{ otherwise: 'event', value: 'basis', initial: 'event', parse: basis },
	}),
	lookbackDays: parameter<number>({
		text: 'how many days before conversion a touch may be credited',
		...{ otherwise: `${defaultLookbackDays}`, value: 'number', initial: defaultLookbackDays },
		parse: wholeNumber(1, 3650),
	}),
	halfLifeDays: parameter<number>({
		text: 'half-life of the model decay, in days',
		...{ otherwise: `${defaultHalfLifeDays}`, value: 'number', initial: defaultHalfLifeDays },
		parse: positiveNumber(3650),
	}),
	intervals: parameter<boolean>({
		text: 'leave out the intervals of the model markov, which take most of the time',
		...{ initial: true, parse: switched },
	}),
	...labelFilters,
	channel: filter('subscriptions with this channel in their path'),
	segment: filter('subscriptions whose visitor is in this segment, by its id', 'id'),
	/** Days between renewals, by `evt`. */
	period: parameter<Readonly<Record<string, number>>>({
		text: 'days from one renewal to the next, such as newsletter=30,gift=365',
		...{ otherwise: 'the median', value: 'evt=days...', initial: {}, parse: renewalPeriods },
	}),
	top: parameter<number>({
		text: 'number of paths to show',
		...{ otherwise: '20', value: 'number', initial: 20, parse: wholeNumber(1, 10_000) },
	}),
};

export type ReportParameter = keyof typeof parameters;
export const parameterNames = Object.keys(parameters) as ReportParameter[];

/** The parameters of a report. Plain data, because it is passed to a thread. */
export type ReportQuery = { readonly kind: string } & {
	readonly [Name in ReportParameter]: (typeof parameters)[Name]['initial'];
};

/** Parameters of all reports. */
export const commonParameters = ['from', 'to', 'asOf', 'timezone', ...eventLabelNames] as const;
/** Parameters of reports on paths: events without a visitor have none. */
export const pathParameters = [
	...commonParameters,
	...(['by', 'lookbackDays', 'channel', 'segment'] as const),
];
/** Parameters that choose subscriptions. They are part of what a report says. */
export const filters: readonly ReportParameter[] = [...eventLabelNames, 'channel', 'segment'];

/** What a report takes. */
export interface TakesParameters {
	readonly kind: string;
	/** A parameter without effect is refused, since somebody expects one. */
	readonly parameters: readonly ReportParameter[];
	/** Refuses values that the report has no use for. @throws OperatorError */
	check?(given: Partial<ReportQuery>): void;
}

/** A report's parameters where some are given. */
export function queryOf({ kind }: TakesParameters, given: Partial<ReportQuery>): ReportQuery {
	const initial = Object.entries(parameters).map(([name, one]) => [name, one.initial]);
	return { ...(Object.fromEntries(initial) as ReportQuery), kind, ...given };
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
			report.check?.(value);
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
	return { [known]: parameters[known].parse(text, nowMs) };
}

/** One or two dimensions separated by a comma, or `none`. */
function grouping(value: string): Grouping {
	if (value === 'none') return [];
	const names = value.split(',');
	if (names.length > 2 || new Set(names).size < names.length || !areOf(touchDimensions, names))
		throw new OperatorError(`It must be none, or ${oneOrTwo}, such as channel,campaign.`);
	return names as TouchDimension[];
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

function basis(value: string): Basis {
	if (value !== 'event' && value !== 'cohort') throw new OperatorError('It must be event or cohort.');
	return value;
}

function switched(value: string): boolean {
	if (value !== '0' && value !== '1') throw new OperatorError('It must be 0 or 1.');
	return value === '1';
}

/** Event types with the days between renewals, as `newsletter=30,gift=365`. */
function renewalPeriods(value: string): Record<string, number> {
	// An event type may contain a comma, too.
	const periods = value.split(/(?<==\d+),/).map((one) => {
		const [, evt = '', days] = /^(.+)=(\d{1,4})$/.exec(one) ?? [];
		if (!(Number(days) > 0))
			throw new OperatorError('It must be an event type and a number of days, such as newsletter=30.');
		return [evt, Number(days)];
	});
	return Object.fromEntries(periods);
}
