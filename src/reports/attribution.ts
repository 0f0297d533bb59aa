import { seededRandom } from '../scoring/rows/random.ts';
import { apportion } from './apportion.ts';
import { attributionSeries, type SeriesRow } from './attribution-series.ts';
import type { SpanLength } from './calendar.ts';
import {
	type CreditedPath,
	creditedPath,
	creditOf,
	type MarkovBasis,
	markovBasis,
	markovNotes,
	markovWarnings,
	whyNoMarkov,
} from './credit.ts';
import {
	type Amounts,
	amountNames,
	countedJourneys,
	firstEventMs,
	type Journey,
	netPence,
	ratio,
	rounded,
	spansOf,
	type Terms,
	type Totals,
	totalOf,
} from './journey.ts';
import { type Dimensions, dimensionsOf, type Grouping, isOfTouches, none, touchLabelsOf } from './label.ts';
import type { LostLabels, LostPaths } from './lost-paths.ts';
import { type ShareInterval, type SimilarVisitors, shareIntervals } from './markov-interval.ts';
import type { AttributionModel } from './model.ts';
import { type Cell, type FlatRow, reportThat, type SideTable, styled } from './report.ts';
import { curves, curvesByGroup } from './report-curves.ts';
import { bars } from './report-drawing.ts';
import { pathParameters } from './report-query.ts';
import type { Visited, Visits } from './visits.ts';

export interface AttributionOptions extends Pick<Terms, 'by' | 'period' | 'basis' | 'halfLifeDays'> {
	readonly models: readonly AttributionModel[];
	/** Whether to compute the intervals of the Markov model's shares, which takes most of the time. */
	readonly intervals: boolean;
	readonly random: () => number;
}

/** What a model credits to a row. */
interface CreditedAmounts extends Amounts {
	readonly netPence: number;
	readonly share: number | null;
	/** Subscriptions and net revenue for each visitor; null for `(none)`, which nobody comes by. */
	readonly conversionRate: number | null;
	readonly netPerVisitorPence: number | null;
	/** Bounds of the 95 % interval of `subscriptions`; only for the Markov model, and rows in at least five paths. */
	readonly low?: number;
	readonly high?: number;
}

interface AttributionRow extends Dimensions {
	/** Visitors who came by it in the period, whether or not they subscribed, and how often they did. */
	readonly visitors: number | null;
	readonly visits: number | null;
	/**
	 * The number of paths that contain it before the end, divided by those that end with it; null if none ends with it.
	 */
	readonly assistRatio: number | null;
	readonly models: Readonly<Partial<Record<AttributionModel, CreditedAmounts>>>;
}

export interface Attribution {
	readonly totals: Totals & Partial<Visited>;
	/** Those that are shown. */
	readonly models: readonly AttributionModel[];
	/** If that model was asked for. */
	readonly markov?: MarkovBasis;
	readonly rows: readonly AttributionRow[];
	readonly warnings: readonly string[];
	readonly notes: readonly string[];
	/** By spans of time, credited by one model, if that was asked for. */
	readonly every?: SpanLength;
	readonly seriesModel?: AttributionModel;
	readonly series?: readonly SeriesRow[];
}

/** Intervals of rarer rows contain the truth in far fewer than 95 of 100 cases (`npm run proof:markov`). */
const minPathsOfInterval = 5;
/** Shares of a subscription are shown in ten-thousandths. */
const partsOfOne = 10_000;

/**
 * Credits touches with the subscriptions and pence that followed them. Every column adds up to the stored total.
 * @param journeys in an order that does not depend on the order of arrival, so that sums are equal to the last digit
 */
export function attribute(
	journeys: readonly Journey[],
	{ lost, visits }: { readonly lost: LostPaths; readonly visits?: Visits },
	options: AttributionOptions,
): Attribution {
	const { by, models: asked, period } = options;
	const counted = countedJourneys(journeys, period, options.basis);
	const labels = touchLabelsOf(counted, visits ? [lost, visits] : [lost], by);
	const visited = visits?.count((label) => labels.numberOf(label), labels.names.length, [period.fromMs])[0];
	const numberOf = (label: string) => labels.numberOf(label);
	const paths = counted.map(({ amounts, ...journey }) => ({
		...creditedPath(journey, amounts, { labels, by }),
		owner: journey.subscription.owner,
	}));
	const lostLabels = lost.labelled(numberOf);
	const totals = totalOf(counted);
	const basis = markovBasis(paths, lost);
	const isAsked = asked.includes('markov');
	const hidden = isAsked ? whyNoMarkov(basis) : undefined;
	const models = asked.filter((model) => model !== 'markov' || hidden === undefined);
	const isMarkov = models.includes('markov');
	const intervals =
		isMarkov && options.intervals
			? shareIntervals(similarVisitors(paths, lostLabels), labels.names.length, options.random)
			: [];
	const columns = models.map((model) => ({
		model,
		amounts: wholeAmounts(paths, lostLabels, totals, labels.names.length, model, options),
	}));
	const known = paths.reduce(
		(sum, { path, amounts }) => (path.labels.length > 0 ? sum + amounts.subscriptions : sum),
		0,
	);
	const containing = pathsContaining(paths, labels.names.length);
	const assists = assistRatios(paths, labels.names.length);
	const rows = [...labels.names, none].flatMap((name, label) => {
		const isEmpty = name === none && !paths.some(({ path }) => path.labels.length === 0);
		if (isEmpty) return [];
		const of = name === none && label === labels.names.length ? undefined : visited?.[label];
		const credited = columns.map(({ model, amounts }) => {
			const amount = amounts[label] as Amounts;
			const share = ratio(amount.subscriptions, totals.subscriptions);
			const net = netPence(amount);
			const each = {
				conversionRate: of ? ratio(amount.subscriptions, of.visitors) : null,
				netPerVisitorPence: of ? ratio(net, of.visitors, 2) : null,
			};
			const isFrequent = (containing[label] as number) >= minPathsOfInterval;
			const interval = model === 'markov' && isFrequent ? intervals[label] : undefined;
			return [model, { ...amount, netPence: net, share, ...each, ...withinOf(interval, known) }] as const;
		});
		return [
			{
				name,
				row: {
					...dimensionsOf(name, by),
					visitors: of?.visitors ?? null,
					visits: of?.visits ?? null,
					assistRatio: assists[label] ?? null,
					models: Object.fromEntries(credited),
				},
			},
		];
	});
	return {
		totals: { ...totals, ...visited?.at(-1) },
		models,
		...(isAsked && { markov: basis }),
		rows: rows.sort((a, b) => compareRows(a, b, models[0])).map(({ row }) => row),
		warnings: isMarkov ? markovWarnings(basis) : hidden === undefined ? [] : [hidden],
		notes: isMarkov ? markovNotes(basis) : [],
	};
}

function withinOf(
	interval: ShareInterval | undefined,
	subscriptions: number,
): { low?: number; high?: number } {
	if (!interval) return {};
	return {
		low: rounded(interval.low * subscriptions, 2),
		high: rounded(interval.high * subscriptions, 2),
	};
}

function wholeAmounts(
	paths: readonly CreditedPath[],
	lost: readonly LostLabels[],
	totals: Amounts,
	labels: number,
	model: AttributionModel,
	{ halfLifeDays }: AttributionOptions,
): Amounts[] {
	const credit = creditOf(model, paths, lost, { labels, halfLifeDays });
	const columns = amountNames.map((name) => {
		const [total, parts] = [totals[name], name === 'subscriptions' ? partsOfOne : 1];
		const shares = credit[name].map((part) => (total === 0 ? 0 : part / total));
		return apportion(total * parts, shares).map((part) => part / parts);
	});
	return Array.from({ length: labels + 1 }, (_, label) => {
		const cells = amountNames.map((name, column) => [name, columns[column]?.[label]]);
		return Object.fromEntries(cells) as Amounts;
	});
}

/** Subscriptions of one visitor stay together, and visitors with equal paths are counted together. */
function similarVisitors(
	paths: readonly (CreditedPath & { readonly owner: string | null })[],
	lost: readonly LostLabels[],
): SimilarVisitors[] {
	const known = paths.filter(({ path, conversions }) => path.labels.length > 0 && conversions > 0);
	const visitors = [...Map.groupBy(known, ({ owner }) => owner).values()];
	const converted = visitors.map((own) => own.map(({ path }) => path.labels));
	const alike = Map.groupBy(converted, (own) => own.map(String).sort().join(' '));
	const subscribers = [...alike].sort(([a], [b]) => (a < b ? -1 : 1));
	return [
		...subscribers.map(([, same]) => ({ visitors: same.length, converted: same[0] ?? [], lost: null })),
		...lost.map(({ labels, visitors }) => ({ visitors, converted: [], lost: labels })),
	];
}

/** The number of conversions whose path has each label. */
function pathsContaining(paths: readonly CreditedPath[], labels: number): Float64Array {
	const counts = new Float64Array(labels + 1);
	for (const { path, conversions } of paths)
		for (const label of new Set(path.labels)) (counts[label] as number) += conversions;
	return counts;
}

function assistRatios(paths: readonly CreditedPath[], labels: number): (number | null)[] {
	const [last, assisted] = [new Float64Array(labels + 1), new Float64Array(labels + 1)];
	for (const { path, amounts } of paths) {
		const end = path.labels.at(-1);
		(last[end ?? labels] as number) += amounts.subscriptions;
		for (const label of new Set(path.labels))
			if (label !== end) (assisted[label] as number) += amounts.subscriptions;
	}
	return Array.from(last, (lasts, label) => ratio(assisted[label] as number, lasts));
}

interface NamedRow {
	readonly name: string;
	readonly row: AttributionRow;
}

function compareRows(a: NamedRow, b: NamedRow, model: AttributionModel | undefined): number {
	const [one, other] = [a, b].map(
		({ row }) => (model && row.models[model]) ?? { subscriptions: 0, netPence: 0 },
	);
	const byCredit =
		one && other ? other.subscriptions - one.subscriptions || other.netPence - one.netPence : 0;
	return byCredit || (a.name < b.name ? -1 : 1);
}

/** A table for each amount, with a column for each model. */
function matrixOf(
	rows: readonly AttributionRow[],
	models: readonly AttributionModel[],
	by: Grouping,
): SideTable[] {
	const byModel = (row: AttributionRow, cellOf: (amounts: CreditedAmounts) => Cell, unit = ''): FlatRow =>
		Object.fromEntries(
			models.map((model) => [`${model}${unit}`, cellOf(row.models[model] as CreditedAmounts)]),
		);
	const tableOf = (title: string, cellsOf: (row: AttributionRow) => FlatRow): SideTable => ({
		title,
		rows: rows.map((row) => ({
			...Object.fromEntries(by.filter(isOfTouches).map((name) => [name, row[name] ?? null])),
			...cellsOf(row),
		})),
	});
	return [
		tableOf('Subscriptions', (row) => ({
			visitors: row.visitors,
			visits: row.visits,
			assistRatio: row.assistRatio,
			...byModel(row, ({ subscriptions }) => subscriptions),
			markovLow: row.models.markov?.low ?? null,
			markovHigh: row.models.markov?.high ?? null,
		})),
		tableOf('Net revenue', (row) => byModel(row, (amounts) => amounts.netPence, 'Pence')),
		{
			...tableOf('Conversion rate', (row) => byModel(row, ({ conversionRate }) => conversionRate)),
			columns: styled(models, { isShare: true }),
		},
		tableOf('Net revenue per visitor', (row) =>
			byModel(row, ({ netPerVisitorPence }) => netPerVisitorPence, 'Pence'),
		),
	];
}

/** Fixed, so that a report is repeatable to the last digit. */
const seed = 1;

export const attributionReport = reportThat({
	kind: 'attribution',
	title: 'Attribution',
	summary: 'what each channel is credited with',
	definition:
		'For each row and model: subscriptions; acquisition, renewal, refund and net pence; and the share of all subscriptions. `visitors` is how many people arrived by the row in the period, whether or not they subscribed, and `visits` how often. `conversionRate` is the credited subscriptions divided by `visitors`, and `netPerVisitorPence` the net pence. `assistRatio` is the number of paths that contain the row before their end, divided by the number of paths that end with it.',
	parameters: [...pathParameters, 'model', 'halfLifeDays', 'basis', 'intervals', 'every'],
	columns: {
		...styled(['share', 'conversionRate'], { isShare: true }),
		...styled(['low', 'high', 'markovLow', 'markovHigh'], { isOptional: true }),
	},
	async make({ query, period, asOfMs, calendar, journeys: read }) {
		const { basis, lookbackDays, halfLifeDays, model: models, by, every } = query;
		const { journeys, ...others } = await read('visits');
		const options = { ...query, models, period, random: seededRandom(seed) };
		const made = { basis, lookbackDays, halfLifeDays, by, ...attribute(journeys, others, options) };
		if (every === null) return made;
		const firstMs = Math.min(firstEventMs(journeys), others.visits.firstMs);
		const spans = spansOf(firstMs, every, { period, calendar, asOfMs });
		const series = attributionSeries(journeys, others.visits, spans, {
			by,
			basis,
			every,
			models,
			halfLifeDays,
		});
		return { ...made, every, ...series };
	},
	parts: ({ rows, models, series, by }) => (series || models.length < 2 ? null : matrixOf(rows, models, by)),
	table: ({ rows, series }) =>
		(series as readonly FlatRow[] | undefined) ??
		rows.flatMap(({ models, ...row }) =>
			Object.entries(models).map(([model, amounts]) => {
				const { low = null, high = null, ...amount } = amounts;
				return { ...row, model, ...amount, low, high };
			}),
		),
	draw({ series, seriesModel, every, by }, table, money, notes) {
		if (!series || !every) {
			const withIntervals = table.filter(({ low }) => typeof low === 'number');
			const title = 'Subscriptions credited by markov, with their 95 % intervals';
			return [
				bars(table, 'netPence', { title: 'Net revenue', money }),
				bars(withIntervals, 'subscriptions', { title, bounds: ['low', 'high'] }),
			];
		}
		const lines = curvesByGroup(series, by, (row) => ({ x: String(row[every]), y: row.subscriptions }));
		return curves(lines, {
			title: `Subscriptions by ${every}, credited by ${seriesModel}`,
			noted: { notes, every },
		});
	},
});
