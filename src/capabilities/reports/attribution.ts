import { compareTexts } from '../../core/domain/compare-texts.ts';
import { formatNumber, formatPercent, listed } from '../../core/format/numbers.ts';
import { seededRandom } from '../../kit/random.ts';
import { extremesText, signed } from '../../kit/reports/answer-text.ts';
import { apportion } from '../../kit/reports/apportion.ts';
import type { Arrivals, Came } from '../../kit/reports/arrivals.ts';
import { type AttributionModel, creditedTo, oneTouchModels } from '../../kit/reports/attribution-model.ts';
import type { SpanLength } from '../../kit/reports/calendar.ts';
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
	totalOf,
} from '../../kit/reports/journey.ts';
import {
	dimensionsOf,
	type Grouping,
	isOfTouches,
	none,
	notSet,
	touchLabelsOf,
} from '../../kit/reports/label.ts';
import type { LostLabels, LostPaths } from '../../kit/reports/lost-paths.ts';
import { type Cell, type FlatRow, reportThat, type SideTable, styled } from '../../kit/reports/report.ts';
import { curves, curvesByGroup } from '../../kit/reports/report-curves.ts';
import { pathParameters } from '../../kit/reports/report-query.ts';
import { bars, dots } from '../../kit/reports/report-rows.ts';
import { withBounds } from '../../kit/reports/share-interval.ts';
import { sumOf } from '../../kit/reports/sums.ts';
import { attributionSeries } from './attribution-series.ts';
import { type CreditedPath, creditedPath, creditOf, markovBasis, markovSays, restsOnFew } from './credit.ts';
import { type SimilarVisitors, shareIntervals } from './markov-interval.ts';

export interface AttributionOptions extends Pick<Terms, 'by' | 'period' | 'basis' | 'halfLifeDays'> {
	readonly models: readonly AttributionModel[];
	/** Whether to compute the intervals of the Markov model's shares, which takes most of the time. */
	readonly intervals: boolean;
	readonly random: () => number;
}

/** A row by which subscribers came, with what each model credits to it. */
type AttributionRow = ReturnType<typeof attribute>['rows'][number];

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
	{ lost, arrivals }: { readonly lost: LostPaths; readonly arrivals?: Arrivals },
	options: AttributionOptions,
) {
	const { by, models: asked, period } = options;
	const counted = countedJourneys(journeys, period, options.basis);
	const labels = touchLabelsOf(counted, arrivals ? [lost, arrivals] : [lost], by);
	const numberOf = (label: string) => labels.numberOf(label);
	const visited = arrivals?.count(numberOf, labels.names.length, [period.fromMs])[0];
	const paths = counted.map(({ amounts, ...journey }) => ({
		...creditedPath(journey, amounts, { labels, by }),
		owner: journey.subscription.owner,
	}));
	const lostLabels = lost.labelled(numberOf);
	const totals = totalOf(counted);
	const markov = asked.includes('markov') ? markovBasis(paths, lost) : undefined;
	const { isShown, warnings, notes } = markovSays(markov);
	const models = asked.filter((model) => model !== 'markov' || isShown);
	const intervals =
		isShown && options.intervals
			? shareIntervals(similarVisitors(paths, lostLabels), labels.names.length, options.random)
			: [];
	const columns = models.map((model) => ({
		model,
		amounts: wholeAmounts(paths, lostLabels, totals, labels.names.length, model, options),
	}));
	const known = sumOf(paths, ({ path, amounts }) => (path.labels.length > 0 ? amounts.subscriptions : 0));
	const containing = pathsContaining(paths, labels.names.length);
	const assists = assistRatios(paths, labels.names.length);
	/** @param came whom a row brought; undefined for `(none)`, which nobody comes by */
	const creditedBy = (label: number, came: Came | undefined) =>
		columns.map(({ model, amounts }) => {
			const amount = amounts[label] as Amounts;
			const net = netPence(amount);
			const isFrequent = (containing[label] as number) >= minPathsOfInterval;
			const interval = model === 'markov' && isFrequent ? intervals[label] : undefined;
			const credited = {
				...amount,
				netPence: net,
				share: ratio(amount.subscriptions, totals.subscriptions),
				// So exact that it is rounded only where it is shown.
				conversionRate: came ? ratio(amount.subscriptions, came.visitors, 6) : null,
				netPerVisitorPence: came ? ratio(net, came.visitors, 2) : null,
				// Of the 95 % interval of `subscriptions`.
				...(interval && {
					low: rounded(interval.low * known, 2),
					high: rounded(interval.high * known, 2),
				}),
			};
			return [model, credited] as const;
		});
	type Credited = ReturnType<typeof creditedBy>[number][1];
	const rows = [...labels.names, none].flatMap((name, label) => {
		const isEmpty = name === none && !paths.some(({ path }) => path.labels.length === 0);
		if (isEmpty) return [];
		const came = label === labels.names.length ? undefined : visited?.[label];
		const row = {
			...dimensionsOf(name, by),
			// Who came by it in the period, whether or not they subscribed, and how often.
			visitors: came?.visitors ?? null,
			arrivals: came?.arrivals ?? null,
			// The paths that contain it before the end, divided by those that end with it; null if none ends with it.
			assistRatio: assists[label] ?? null,
			models: Object.fromEntries(creditedBy(label, came)) as {
				readonly [Model in AttributionModel]?: Credited;
			},
		};
		return [{ name, row }];
	});
	const creditOfFirst = ({ models: credited }: (typeof rows)[number]['row']) => {
		const [first] = models;
		return (first && credited[first]) ?? { subscriptions: 0, netPence: 0 };
	};
	rows.sort((a, b) => {
		const [one, other] = [creditOfFirst(a.row), creditOfFirst(b.row)];
		return (
			other.subscriptions - one.subscriptions || other.netPence - one.netPence || compareTexts(a.name, b.name)
		);
	});
	return {
		totals: { ...totals, ...visited?.at(-1) },
		// Those that are shown.
		models,
		...(markov && { markov }),
		rows: rows.map(({ row }) => row),
		warnings,
		notes,
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
		const [total, parts] = [totals[name], name.endsWith('Pence') ? 1 : partsOfOne];
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
	const subscribers = [...alike].sort(([a], [b]) => compareTexts(a, b));
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

/** The values of a row's dimensions. */
function namesOf(row: AttributionRow, by: Grouping): FlatRow {
	return Object.fromEntries(by.filter(isOfTouches).map((name) => [name, row[name] ?? null]));
}

/** What is asked of a row most often. */
function ofOneModel(rows: readonly AttributionRow[], model: AttributionModel, by: Grouping): SideTable {
	return {
		title: `With credit to ${creditedTo[model]}`,
		rows: rows.map((row) => {
			const {
				trials,
				subscriptions,
				share,
				conversionRate,
				netPence: pence,
				netPerVisitorPence,
				low,
				high,
			} = row.models[model] as NonNullable<AttributionRow['models'][AttributionModel]>;
			return {
				...namesOf(row, by),
				visitors: row.visitors,
				arrivals: row.arrivals,
				trials,
				subscriptions,
				low: low ?? null,
				high: high ?? null,
				share,
				conversionRate,
				netPence: pence,
				netPerVisitorPence,
			};
		}),
	};
}

/** A table for each amount, with a column for each model. */
function matrixOf(
	rows: readonly AttributionRow[],
	models: readonly AttributionModel[],
	by: Grouping,
): SideTable[] {
	type Credited = NonNullable<AttributionRow['models'][AttributionModel]>;
	const byModel = (row: AttributionRow, cellOf: (amounts: Credited) => Cell, unit = ''): FlatRow =>
		Object.fromEntries(models.map((model) => [`${model}${unit}`, cellOf(row.models[model] as Credited)]));
	const tableOf = (title: string, cellsOf: (row: AttributionRow) => FlatRow): SideTable => ({
		title,
		rows: rows.map((row) => ({
			...namesOf(row, by),
			...cellsOf(row),
		})),
	});
	return [
		tableOf('New subscriptions', (row) => ({
			visitors: row.visitors,
			arrivals: row.arrivals,
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

/** As many are named that changed. */
const maxChanges = 3;
/** A share of fewer says little. */
const leastVisitors = 30;

/** The values of a row's dimensions in one line. */
function nameOf(row: AttributionRow, by: Grouping): string {
	const values = by.filter(isOfTouches).map((name) => row[name] ?? none);
	return [...new Set(values)].join(' / ');
}

/** Whether a row is of something that has a name. */
const isNamed = (name: string) => ![none, notSet].includes(name);

/** Fixed, so that a report is repeatable to the last digit. */
const seed = 1;

export const attributionReport = reportThat({
	kind: 'attribution',
	title: 'Attribution',
	summary: 'what each channel is credited with',
	definition:
		'For each row and model: `trials` that started; first payments (`subscriptions`), also those without a known visitor; the amounts of first payments, renewals, refunds and their sum; and `share`, the part of all new subscriptions, not of money. `visitors` is how many people arrived in the period through what the row names, whether or not they subscribed, and `arrivals` how often. Filters by channel, campaign and the like apply to both. `conversionRate` is the credited subscriptions, and `netPerVisitorPence` the net pence, divided by `visitors`. `assistRatio` is the number of paths that contain the row before their end, divided by the number of paths that end with it.',
	parameters: [...pathParameters, 'model', 'halfLifeDays', 'basis', 'intervals', 'every', 'include'],
	columns: {
		part: { isOptional: true, heading: 'incomplete' },
		trials: { hidesZero: true },
		subscriptions: { heading: 'new subscriptions' },
		share: { isShare: true, heading: 'share of subscriptions' },
		...styled(['conversionRate'], { isShare: true }),
		...styled(['low', 'high', 'markovLow', 'markovHigh'], { isOptional: true }),
	},
	async make({ query, period, asOfMs, calendar, journeys: read }) {
		const { basis, lookbackDays, halfLifeDays, model: models, by, every } = query;
		const { journeys, ...others } = await read('arrivals');
		const options = { ...query, models, period, random: seededRandom(seed) };
		const made = { basis, lookbackDays, halfLifeDays, by, ...attribute(journeys, others, options) };
		const seriesBy = (length: SpanLength) => {
			const firstMs = Math.min(firstEventMs(journeys), others.arrivals.firstMs);
			const spans = spansOf(firstMs, length, { period, calendar, asOfMs });
			return attributionSeries(journeys, others.arrivals, spans, { ...query, every: length });
		};
		return { ...made, ...(every !== null && { every, ...seriesBy(every) }) };
	},
	answer({ rows, models: [model], totals, by, compared }, money) {
		if (!model || by.length === 0 || totals.subscriptions + totals.netPence === 0) return null;
		const named = rows.map((row) => ({ name: nameOf(row, by), ...row, ...row.models[model] }));
		const most = named.find(({ name, subscriptions = 0 }) => isNamed(name) && subscriptions > 0);
		const first = most
			? `Crediting ${creditedTo[model]}, ${most.name} brought the most new subscriptions: ${formatNumber(most.subscriptions ?? 0)} of ${formatNumber(totals.subscriptions)} (${formatPercent((most.subscriptions ?? 0) / totals.subscriptions, 1)}).`
			: `No new subscription is credited to ${creditedTo[model]}.`;
		const before = new Map(
			compared?.rows.map((row) => [nameOf(row, by), row.models[model]?.netPence ?? 0] as const),
		);
		const names = [...new Set([...named.map(({ name }) => name), ...before.keys()])];
		const changes = names
			.map((name) => ({
				name,
				pence: (named.find((row) => row.name === name)?.netPence ?? 0) - (before.get(name) ?? 0),
			}))
			.filter(({ pence }) => compared && pence !== 0)
			.sort((a, b) => Math.abs(b.pence) - Math.abs(a.pence))
			.slice(0, maxChanges)
			.map(({ name, pence }) => `${name} ${signed(pence, money)}`);
		const isOfOneTouch = oneTouchModels.some((one) => one === model);
		// Parts of a subscription are no people.
		const cameBy = isOfOneTouch
			? named.filter(({ name, visitors }) => isNamed(name) && (visitors ?? 0) > 0)
			: [];
		const rates = cameBy.flatMap(({ name, visitors, conversionRate }) =>
			(visitors ?? 0) >= leastVisitors && (conversionRate ?? 2) <= 1
				? [{ name, ...withBounds(conversionRate as number, visitors as number) }]
				: [],
		);
		return [
			first,
			...(changes.length > 0 ? [`Net revenue changed most for ${listed(changes)}.`] : []),
			extremesText(rates, {
				share: 'Conversion rate',
				left: cameBy.length - rates.length,
			}),
		]
			.filter(Boolean)
			.join(' ');
	},
	parts({ rows, models, series, by }) {
		const [one, ...others] = models;
		if (series || one === undefined) return null;
		return others.length > 0 ? matrixOf(rows, models, by) : [ofOneModel(rows, one, by)];
	},
	table: ({ rows, series }) =>
		(series as readonly FlatRow[] | undefined) ??
		rows.flatMap(({ models, ...row }) =>
			Object.entries(models).map(([model, amounts]) => {
				const { low = null, high = null, ...amount } = amounts;
				return { ...row, model, ...amount, low, high };
			}),
		),
	draw({ rows, models, markov, series, seriesModel, every, by }, _, money, notes) {
		if (!series || !every) {
			// What rests on few says little, also in a picture.
			const told = models.filter((model) => model !== 'markov' || (markov && !restsOnFew(markov)));
			const drawn = (value: (credited: NonNullable<AttributionRow['models'][AttributionModel]>) => Cell) =>
				rows.map((row) => ({
					name: nameOf(row, by),
					...Object.fromEntries(
						told.map((model) => [model, value(row.models[model] as NonNullable<typeof row.models.last>)]),
					),
				}));
			const columns = told.slice(0, 2).map((model) => ({ name: creditedTo[model], column: model }));
			const [one] = told;
			const credited = drawn(({ subscriptions }) => subscriptions);
			const net = drawn(({ netPence: pence }) => pence);
			if (one === undefined) return null;
			return told.length > 1
				? [
						dots(credited, columns, { title: 'New subscriptions, by two models' }),
						dots(net, columns, { title: 'Net revenue, by two models', money }),
					]
				: [
						bars(credited, one, { title: `New subscriptions, with credit to ${creditedTo[one]}` }),
						bars(net, one, { title: `Net revenue, with credit to ${creditedTo[one]}`, money }),
					];
		}
		const lines = curvesByGroup(series, by, (row) => ({
			x: String(row[every]),
			y: row.subscriptions,
			part: row.part,
		}));
		return curves(lines, {
			title: `New subscriptions by ${every}, with credit to ${creditedTo[seriesModel as AttributionModel]}`,
			noted: { notes, every },
		});
	},
});
