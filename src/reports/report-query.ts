import { type TouchDimension, touchDimensions } from '../domain/touch.ts';
import { OperatorError } from '../errors.ts';
import type { Basis } from './journey.ts';
import type { Grouping } from './label.ts';
import { type AttributionModel, attributionModels, defaultHalfLifeDays, defaultModel } from './model.ts';
import { defaultLookbackDays } from './path.ts';

export const reportKinds = ['attribution', 'paths', 'ltv', 'renewals', 'coverage', 'spend'] as const;
export type ReportKind = (typeof reportKinds)[number];

/** Parameters of all reports. */
const commonParameters = ['from', 'to', 'asOf', 'timezone', 'evt'] as const;
/** Parameters of reports on paths: events without a visitor have none. */
const pathParameters = ['by', 'lookbackDays', 'channel', 'segment'] as const;
const modelParameters = ['model', 'halfLifeDays'] as const;

/** The parameters that each report uses. A parameter without effect is refused, since somebody expects one. */
export const parametersOf = {
	attribution: [...commonParameters, ...pathParameters, ...modelParameters, 'basis', 'intervals'],
	paths: [...commonParameters, ...pathParameters, 'basis', 'top'],
	ltv: [...commonParameters, ...pathParameters],
	renewals: [...commonParameters, ...pathParameters, 'period'],
	coverage: [...commonParameters, 'by'],
	spend: [...commonParameters, ...pathParameters, ...modelParameters],
} as const satisfies Readonly<Record<ReportKind, readonly string[]>>;

export type ReportParameter = (typeof parametersOf)[ReportKind][number];

export function usesParameter(kind: ReportKind, name: string): boolean {
	return (parametersOf[kind] as readonly string[]).includes(name);
}

/** The account that a report is about. */
export interface ReportedAccount {
	readonly id: number;
	readonly aid: string;
	readonly timezone: string;
	readonly paymentProviders: readonly string[];
}

/** The parameters of a report. Plain data, because it is passed to a thread. */
export interface ReportQuery {
	readonly kind: ReportKind;
	/** Days in the time zone, for example 2026-01-31: from inclusive, to exclusive. */
	readonly from: string | null;
	readonly to: string | null;
	/** Null: now. */
	readonly asOfMs: number | null;
	/** Null: the account's. */
	readonly timezone: string | null;
	readonly by: Grouping;
	readonly models: readonly AttributionModel[];
	readonly basis: Basis;
	readonly lookbackDays: number;
	readonly halfLifeDays: number;
	readonly intervals: boolean;
	/** Only subscriptions whose acquisition has this event type. */
	readonly evt: string | null;
	/** Only subscriptions with this channel in their path. */
	readonly channel: string | null;
	/** Only subscriptions whose owner is in this segment, by its id. */
	readonly segment: string | null;
	/** Days between renewals, by `evt`. */
	readonly periodDays: Readonly<Record<string, number>>;
	/** The number of paths to show. */
	readonly top: number;
}

/** A report's default parameters. */
export function defaultQuery(kind: ReportKind): ReportQuery {
	return {
		...{ kind, from: null, to: null, asOfMs: null, timezone: null, by: ['channel'], models: [defaultModel] },
		...{
			basis: 'event',
			lookbackDays: defaultLookbackDays,
			halfLifeDays: defaultHalfLifeDays,
			intervals: true,
		},
		...{ evt: null, channel: null, segment: null, periodDays: {}, top: 20 },
	};
}

/** Parses a day such as 2026-01-31. @throws OperatorError */
export function day(value: string): string {
	try {
		if (/^\d{4}-\d\d-\d\d$/.test(value))
			return Temporal.PlainDate.from(value, { overflow: 'reject' }).toString();
	} catch {}
	throw new OperatorError(`${value} is not a date; write it like 2026-01-31.`);
}

/** Parses a grouping: one or two dimensions separated by a comma, or `none`. @throws OperatorError */
export function grouping(value: string): Grouping {
	if (value === 'none') return [];
	const names = value.split(',');
	if (names.length > 2 || new Set(names).size < names.length || !names.every(isDimension))
		throw new OperatorError(
			`It must be none, or one or two of ${touchDimensions.join(', ')}, such as channel,campaign.`,
		);
	return names as TouchDimension[];
}

/** Checks that a report can be grouped so. @throws OperatorError */
export function checkGrouping(kind: ReportKind, by: Grouping): void {
	if (kind === 'coverage' && by.length > 0)
		throw new OperatorError('coverage is always by month and evt; use none for one row.');
	const isSpent = by.includes('channel') && by.every((name) => name === 'channel' || name === 'campaign');
	if (kind === 'spend' && by.length > 0 && !isSpent)
		throw new OperatorError(
			'Group spend by channel or channel,campaign, as spending is recorded, or use none for one row.',
		);
}

function isDimension(name: string): boolean {
	return (touchDimensions as readonly string[]).includes(name);
}

/** Parses models separated by commas, or `all`. @throws OperatorError */
export function models(value: string): AttributionModel[] {
	if (value === 'all') return [...attributionModels];
	const names = [...new Set(value.split(','))];
	if (!names.every((name) => (attributionModels as readonly string[]).includes(name)))
		throw new OperatorError(
			`It must be all, or some of ${attributionModels.join(', ')}, separated by commas.`,
		);
	return names as AttributionModel[];
}

/** An event type with the days between renewals, as `newsletter=30`. @throws OperatorError */
export function renewalPeriod(value: string): Record<string, number> {
	const [, evt = '', days] = /^(.+)=(\d{1,4})$/.exec(value) ?? [];
	if (!(Number(days) > 0))
		throw new OperatorError('It must be an event type and a number of days, such as newsletter=30.');
	return { [evt]: Number(days) };
}
