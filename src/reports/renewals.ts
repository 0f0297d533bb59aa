import { dayMs } from '../durations.ts';
import { acquiredIn, type Journey, ratio, rounded, type Terms } from './journey.ts';
import { type Dimensions, dimensionsOf, firstLabel } from './label.ts';
import { type FlatRow, reportThat } from './report.ts';
import { htmlTable } from './report-drawing.ts';
import { pathParameters } from './report-query.ts';
import { numbered } from './report-table.ts';

export interface RenewalsOptions extends Pick<Terms, 'by' | 'period' | 'asOfMs'> {
	/** Days between renewals, by `evt`. The default is the median of the observed gaps. */
	readonly periodDays: ReadonlyMap<string, number>;
}

export interface RenewalsRow extends Dimensions {
	/** The acquisition's event type. */
	readonly evt: string;
	/** Null if nobody has renewed and no period is set. */
	readonly periodDays: number | null;
	readonly subscriptions: number;
	/** The number of subscriptions that could have renewed once, twice, and so on. */
	readonly eligible: readonly number[];
	/** The number of them that did. */
	readonly renewed: readonly number[];
	/** The share of subscriptions with a refund. */
	readonly refundRate: number | null;
	/** The share that remains at each age (Kaplan–Meier). */
	readonly survivors: readonly Survivors[];
}

export interface Survivors {
	/** In periods. */
	readonly age: number;
	/** Subscriptions that had renewed every time before, and could have renewed this time. */
	readonly atRisk: number;
	readonly renewed: number;
	/** The remaining share of all subscriptions. */
	readonly share: number | null;
}

/** A renewal may be late by this much. */
const graceMs = 7 * dayMs;
const maxAges = 60;

/** Counts renewals. */
export function describeRenewals(
	journeys: readonly Journey[],
	{ by, period, asOfMs, periodDays }: RenewalsOptions,
): RenewalsRow[] {
	const counted = acquiredIn(journeys, period);
	const periods = periodsOf(counted, periodDays);
	const groups = Map.groupBy(
		counted,
		({ subscription: { evt }, path }) => `${evt}\u001d${firstLabel(path, by)}`,
	);
	return [...groups]
		.sort(([a, m], [b, n]) => n.length - m.length || (a < b ? -1 : 1))
		.map(([name, own]) => {
			const [evt = '', label = ''] = name.split('\u001d');
			const days = periods.get(evt) ?? null;
			const ages = days === null ? [] : agesOf(own, days * dayMs, asOfMs);
			let left = 1;
			return {
				...dimensionsOf(label, by),
				evt,
				periodDays: days === null ? null : rounded(days, 2),
				subscriptions: own.length,
				eligible: ages.map(({ eligible }) => eligible),
				renewed: ages.map(({ renewed }) => renewed),
				refundRate: ratio(
					own.filter(({ subscription }) => subscription.steps.some(({ kind }) => kind === 'refund')).length,
					own.length,
				),
				survivors: ages.map(({ atRisk, renewed }, index) => {
					left = atRisk === 0 ? Number.NaN : (left * renewed) / atRisk;
					return { age: index + 1, atRisk, renewed, share: Number.isNaN(left) ? null : rounded(left, 4) };
				}),
			};
		});
}

/** The period of each `evt`: as set, else the median gap between payments. */
function periodsOf(journeys: readonly Journey[], set: ReadonlyMap<string, number>): Map<string, number> {
	const gaps = new Map<string, number[]>();
	for (const { subscription } of journeys) {
		const paid = subscription.steps.filter(({ kind }) => kind !== 'refund');
		const own = gaps.get(subscription.evt) ?? [];
		for (const [index, step] of paid.slice(1).entries())
			own.push((step.atMs - (paid[index] as typeof step).atMs) / dayMs);
		gaps.set(subscription.evt, own);
	}
	const periods = new Map<string, number>();
	for (const [evt, own] of gaps) {
		const sorted = Float64Array.from(own).sort();
		const middle = (sorted.length - 1) / 2;
		const median = ((sorted[Math.floor(middle)] ?? 0) + (sorted[Math.ceil(middle)] ?? 0)) / 2;
		const days = set.get(evt) ?? median;
		// Renewals at the same moment do not show a period.
		if (days > 0) periods.set(evt, days);
	}
	return periods;
}

/** Groups subscriptions by how often they could have renewed. One that failed to renew once is no longer at risk. */
function agesOf(journeys: readonly Journey[], periodMs: number, asOfMs: number) {
	const ages: { eligible: number; renewed: number; atRisk: number }[] = [];
	for (const { subscription } of journeys) {
		const renewals = subscription.steps.filter(({ kind }) => kind === 'renewal').length;
		const sinceMs = asOfMs - graceMs - subscription.convertedAtMs;
		const chances = Math.min(maxAges, Math.floor(sinceMs / periodMs));
		for (let age = 1; age <= chances; age++) {
			const at = ages[age - 1] ?? { eligible: 0, renewed: 0, atRisk: 0 };
			ages[age - 1] = at;
			at.eligible++;
			if (renewals >= age) at.renewed++;
			if (renewals >= age - 1) at.atRisk++;
		}
	}
	return ages;
}

const columns = {
	refundRate: { isShare: true },
	survivors: { isShare: true },
	left: { isShare: true, isShaded: true },
};

export const renewalsReport = reportThat({
	kind: 'renewals',
	title: 'Renewals',
	summary: 'who renews, and who is refunded',
	definition:
		'By first touch and `evt` of the acquisition. `eligible[i]` counts subscriptions that could have renewed i times: `T + i · period + 7 days ≤ as of`. `renewed[i]` counts those of them with at least i renewals.',
	parameters: [...pathParameters, 'period'],
	columns,
	async make({ query, period, asOfMs, journeys: read }) {
		const { lookbackDays, by } = query;
		const { journeys } = await read();
		const periodDays = new Map(Object.entries(query.period));
		return { lookbackDays, by, rows: describeRenewals(journeys, { by, period, asOfMs, periodDays }) };
	},
	table: ({ rows }) => rows.flatMap(rowPerAge),
	draw({ by, rows }) {
		const groups = rows.map((row) => ({
			...Object.fromEntries(by.map((dimension) => [dimension, row[dimension] as string])),
			...{ evt: row.evt, subscriptions: row.subscriptions },
			...numbered(
				'left',
				row.survivors.map(({ share }) => share),
			),
		}));
		if (!rows.some(({ survivors }) => survivors.length > 0)) return '';
		return `<p>The share of subscriptions that is left after each number of periods:</p>\n${htmlTable(groups, columns)}`;
	},
});

function rowPerAge({ eligible, renewed, survivors, ...group }: RenewalsRow): FlatRow[] {
	const ages = survivors.map(({ age, atRisk, renewed: stayed, share }, place) => ({
		...{ age, eligible: eligible[place] as number, renewed: renewed[place] as number },
		...{ atRisk, stayed, survivors: share },
	}));
	const none = { age: null, eligible: null, renewed: null, atRisk: null, stayed: null, survivors: null };
	return (ages.length > 0 ? ages : [none]).map((age) => ({ ...group, ...age }));
}
