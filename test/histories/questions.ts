import fc from 'fast-check';
import { dayMs } from '../../src/core/durations.ts';
import type { ReportQuery } from '../../src/kit/reports/report-query.ts';

/** Questions that reports answer about random histories, with every parameter that the report takes. */

export interface Question extends Partial<ReportQuery> {
	readonly kind: string;
}

const touchDimensions = ['channel', 'source', 'medium', 'campaign', 'landing'] as const;
const models = ['first', 'last', 'last-non-direct', 'linear', 'decay', 'position'] as const;

/** Some of their days have 23, 23½, 24½ or 25 hours, and some begin at one o'clock. */
const timezones = [
	...['UTC', 'Europe/London', 'America/New_York', 'Asia/Kolkata', 'Australia/Lord_Howe'],
	...['Pacific/Chatham', 'America/St_Johns', 'Pacific/Apia', 'Africa/Cairo', 'America/Santiago'],
];

const subsets = <Name>(names: readonly Name[]) =>
	fc.oneof(
		fc.constant([]),
		fc.uniqueArray(fc.constantFrom(...names), { minLength: 1, maxLength: 2 }),
	) as fc.Arbitrary<Name[]>;
const maybe = <Value>(arbitrary: fc.Arbitrary<Value>) => fc.option(arbitrary, { freq: 2 });
const from2025 = (days: number) => String(Temporal.PlainDate.from('2025-01-20').add({ days }));

const period = fc
	.tuple(
		maybe(fc.nat(120)),
		maybe(fc.integer({ min: 1, max: 90 })),
		maybe(fc.constantFrom('previous', 'year')),
	)
	.map(([first, days, compare]) => ({
		from: first === null ? null : from2025(first),
		to: days === null ? null : from2025((first ?? 0) + days),
		compare: first === null || days === null ? null : compare,
	}));

const days = fc.oneof(fc.constantFrom(7, 28, 30, 31, 90, 365), fc.integer({ min: 1, max: 400 }));
const common = (endMs: number) => ({
	asOf: fc.oneof(
		fc.constant(endMs),
		fc.integer({ min: -60, max: 120 }).map((n) => endMs + n * dayMs + n),
	),
	timezone: fc.constantFrom(...timezones),
	evt: fc.option(fc.constantFrom('membership', 'newsletter'), { freq: 2 }),
});
/** One touch must have all of these. */
const ofTouches = {
	channel: fc.option(fc.constantFrom('email', 'direct', 'social'), { freq: 2 }),
	campaign: fc.option(fc.constantFrom('spring', 'autumn'), { freq: 2 }),
	source: fc.option(fc.constantFrom('letter', 'search.example'), { freq: 1 }),
	landing: fc.option(fc.constantFrom('/p0', '/p4'), { freq: 1 }),
};
const ofPaths = {
	lookbackDays: fc.constantFrom(90, 1, 7, 33, 400),
	...ofTouches,
	segment: fc.option(fc.constant('busy'), { freq: 2 }),
};
const basis = fc.constantFrom('event', 'cohort');
const model = fc.oneof(
	fc.constant([...models, 'markov']),
	fc.constantFrom(...models, 'markov').map((one) => [one]),
);
const halfLifeDays = fc.constantFrom(7, 0.5, 30);
const every = maybe(fc.constantFrom('day', 'week', 'month'));
/** Of the others, they are learned. */
const daysOrNever = fc.oneof({ weight: 6, arbitrary: days }, { weight: 1, arbitrary: fc.constant('never') });
const setDays = fc.record({ membership: daysOrNever, newsletter: daysOrNever }, { requiredKeys: [] });
const plans = { by: subsets([...touchDimensions, 'evt', 'price']), period: setDays };
const months = fc.constantFrom(24, 1, 3, 1200);

/** @param endMs when the history ends */
export function questions(endMs: number): fc.Arbitrary<Question> {
	const paths = { ...common(endMs), ...ofPaths, by: subsets(touchDimensions) };
	const kinds: readonly [string, Record<string, fc.Arbitrary<unknown>>][] = [
		['attribution', { ...paths, basis, model, halfLifeDays, every, intervals: fc.boolean() }],
		['paths', { ...paths, basis, top: fc.constant(10_000) }],
		['ltv', { ...paths, ...plans, months }],
		['renewals', { ...paths, ...plans }],
		['movement', { ...paths, ...plans, every }],
		['trials', { ...paths, ...plans, every }],
		['retention', { ...paths, ...plans, months }],
		['activity', { ...common(endMs), ...ofTouches, segment: ofPaths.segment, every }],
		['summary', { ...common(endMs), period: plans.period }],
		[
			'funnel',
			{
				asOf: common(endMs).asOf,
				timezone: fc.constantFrom(...timezones),
				days: fc.constantFrom(7, 1, 30, 366),
				top: fc.constantFrom(10_000, 1, 3),
				include: fc.constantFrom(null, null, 'gateways'),
			},
		],
		['coverage', common(endMs)],
		['coverage', { ...common(endMs), by: fc.constant([]) }],
		[
			'spend',
			{
				...paths,
				by: fc.constantFrom([], ['channel'], ['channel', 'campaign']),
				model: fc.constantFrom(...models, 'markov').map((one) => [one]),
				halfLifeDays,
			},
		],
	];
	const ofKind = ([kind, parameters]: [string, Record<string, fc.Arbitrary<unknown>>]) =>
		fc.tuple(period, fc.record(parameters), fc.boolean()).map(([within, others, isOfNow]) => {
			// For now, a period is read in another way than for the past.
			const now = isOfNow && within.from !== null && within.to !== null && { asOf: null };
			// A summary is of a moment.
			const ofPeriod = kind === 'summary' ? {} : { ...within, ...now };
			return { kind, ...others, ...ofPeriod } as unknown as Question;
		});
	return fc.oneof(...kinds.map(ofKind));
}
