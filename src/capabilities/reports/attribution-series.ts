import type { Arrivals } from '../../kit/reports/arrivals.ts';
import { type AttributionModel, defaultModel } from '../../kit/reports/attribution-model.ts';
import type { Span, SpanLength } from '../../kit/reports/calendar.ts';
import {
	amountsOf,
	countedSteps,
	type Journey,
	ratio,
	rounded,
	type Terms,
} from '../../kit/reports/journey.ts';
import { type Dimensions, dimensionsOf, none, touchLabelsOf } from '../../kit/reports/label.ts';
import type { ReportQuery } from '../../kit/reports/report-query.ts';
import { creditedPath, creditOf, netCreditAt } from './credit.ts';

/** What came by a row in a span, and what it is credited with then. */
export interface SeriesRow extends Dimensions {
	/** Under the name of the spans' length: which span it is. */
	readonly [span: string]: string | number | null | undefined;
	/** How much of the span it is, where that is not all. */
	readonly part: string | null;
	readonly visitors: number | null;
	readonly arrivals: number | null;
	readonly subscriptions: number;
	readonly netPence: number;
	readonly conversionRate: number | null;
}

/** Attribution by spans of time. Credit is not rounded to pence that add up, since a row of a span is small. */
export function attributionSeries(
	journeys: readonly Journey[],
	arrivals: Arrivals,
	spans: readonly Span[],
	query: Pick<Terms, 'by' | 'basis' | 'halfLifeDays'> &
		Pick<ReportQuery, 'model'> & { readonly every: SpanLength },
): { seriesModel: AttributionModel; series: SeriesRow[] } {
	const { by, basis, every, halfLifeDays } = query;
	// The chain of a span would rest on next to nothing.
	const model = query.model.find((each) => each !== 'markov') ?? defaultModel;
	const labels = touchLabelsOf(journeys, [arrivals], by);
	const numberOf = (label: string) => labels.numberOf(label);
	const startsMs = spans.map(({ fromMs }) => fromMs);
	const visited = arrivals.count(numberOf, labels.names.length, startsMs);
	const inSpan = spans.map((): Journey[] => []);
	for (const journey of journeys) {
		const { steps } = journey.subscription;
		const places = new Set(steps.map(({ atMs }) => spans.findLastIndex(({ fromMs }) => fromMs <= atMs)));
		for (const place of places) inSpan[place]?.push(journey);
	}
	const series = spans.flatMap((span, place) => {
		const paths = (inSpan[place] as Journey[]).map((journey) =>
			creditedPath(journey, amountsOf(countedSteps(journey.subscription, span, basis)), { labels, by }),
		);
		const credit = creditOf(model, paths, [], { labels: labels.names.length, halfLifeDays });
		return [...labels.names, none].flatMap((name, label) => {
			const isUnknown = label === labels.names.length;
			const came = isUnknown ? undefined : visited[place]?.[label];
			const credited = credit.subscriptions[label] as number;
			const [subscriptions, net] = [rounded(credited, 4), rounded(netCreditAt(credit, label), 0)];
			if (!came?.arrivals && subscriptions === 0 && net === 0) return [];
			return [
				{
					[every]: span.name,
					part: span.part,
					...dimensionsOf(name, by),
					visitors: came?.visitors ?? null,
					arrivals: came?.arrivals ?? null,
					subscriptions,
					netPence: net,
					conversionRate: came ? ratio(credited, came.visitors) : null,
				},
			];
		});
	});
	return { seriesModel: model, series };
}
