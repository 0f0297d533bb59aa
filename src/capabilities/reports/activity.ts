import type { EventKind } from '../../core/domain/event-kind.ts';
import { noGateways } from '../../core/domain/mail-gateways.ts';
import { touchDimensions } from '../../core/domain/touch.ts';
import { counted } from '../../core/format/numbers.ts';
import { firstMomentMs } from '../../kit/reading/hit-rows.ts';
import { countChangeText, moreText, signed } from '../../kit/reports/answer-text.ts';
import type { SpanLength } from '../../kit/reports/calendar.ts';
import {
	amountsOf,
	type Journey,
	netPence,
	type Period,
	placeOf,
	spansOf,
	totalOf,
} from '../../kit/reports/journey.ts';
import { readArrivals } from '../../kit/reports/read-journeys.ts';
import { type FlatRow, reportThat } from '../../kit/reports/report.ts';
import { curves, withEarlier } from '../../kit/reports/report-curves.ts';
import { commonParameters, filters } from '../../kit/reports/report-query.ts';
import { periodText } from '../../kit/reports/report-table.ts';
import { sumOf } from '../../kit/reports/sums.ts';
import { readCameIn } from './day-figures.ts';

/** Counts what happened in each of some spans. */
function describeEvents(journeys: readonly Pick<Journey, 'subscription'>[], spans: readonly Period[]) {
	const steps = journeys.flatMap(({ subscription }) => subscription.steps);
	const bySpan = Map.groupBy(steps, ({ atMs }) => placeOf(spans, atMs));
	return spans.map((_, place) => {
		const own = bySpan.get(place) ?? [];
		const countOf = (of: EventKind) => own.filter(({ kind }) => kind === of).length;
		return { ...amountsOf(own), renewals: countOf('renewal'), refunds: countOf('refund') };
	});
}

export const activityReport = reportThat({
	kind: 'activity',
	title: 'Activity',
	summary: 'what came in, by day, week or month',
	definition:
		'By day, week or month: hits; `arrivals` of visitors, as in `attribution`; `trials` that started; first payments (`subscriptions`), renewals and refunds, with their amounts; and `netPence`, the sum of these amounts. Hits and arrivals belong to no subscription: a report filtered by `evt` or segment leaves out both; one filtered by channel, campaign and the like, only hits.',
	parameters: [...commonParameters, 'every', ...touchDimensions, 'segment', 'include'],
	initial: { by: [], every: 'day' },
	async make({ query, period, asOfMs, calendar, subscriptions, read, gateways: findGateways }) {
		const every: SpanLength = query.every ?? 'day';
		const isFiltered = filters.some((name) => query[name] !== null);
		const journeys = isFiltered ? await subscriptions() : null;
		// Of everything, so that a filter leaves no row out. Not all subscriptions that it chooses are read.
		const firstMs = await read(firstMomentMs);
		const spans = spansOf(firstMs, every, { period, calendar, asOfMs });
		const hasArrivals = isFiltered && query.evt === null && query.segment === null;
		const gateways = hasArrivals || !journeys ? await findGateways() : noGateways;
		const arrivals = hasArrivals
			? await read((options) => readArrivals(spans, { ...options, gateways }))
			: null;
		const came = journeys
			? describeEvents(journeys, spans).map((events, place) => ({
					...events,
					hits: null,
					arrivals: arrivals?.[place] ?? null,
				}))
			: await read((options) => readCameIn(upTo(spans, asOfMs), { ...options, gateways }));
		const rows = came.map(
			({ hits, arrivals, trials, subscriptions, renewals, refunds, ...pence }, place) => ({
				[every]: spans[place]?.name as string,
				part: spans[place]?.part ?? null,
				hits,
				arrivals,
				trials,
				subscriptions,
				renewals,
				refunds,
				...pence,
				netPence: netPence(pence),
			}),
		);
		return { every, totals: totalOf(rows.map((amounts) => ({ amounts }))), rows };
	},
	columns: {
		part: { isOptional: true, heading: 'incomplete' },
		hits: { isOptional: true },
		arrivals: { isOptional: true },
		trials: { hidesZero: true },
		subscriptions: { heading: 'new subscriptions' },
	},
	answer({ rows, totals, compared }, money) {
		if (rows.length === 0) return null;
		const countOf = (of: typeof rows, name: 'renewals' | 'refunds') => sumOf(of, (row) => row[name]);
		const isNothing = compared?.totals.netPence === 0 && compared.totals.subscriptions === 0;
		if (!compared || (isNothing && compared.rows.every(({ hits, netPence }) => !hits && netPence === 0)))
			return `Net revenue is ${money(totals.netPence)}: ${counted(totals.subscriptions, 'new subscription')} (${money(totals.acquisitionPence)}), ${counted(countOf(rows, 'renewals'), 'renewal')} (${money(totals.renewalPence)}) and ${counted(countOf(rows, 'refunds'), 'refund')} (${money(totals.refundPence)}).${compared ? ` There is nothing from ${periodText(compared.from, compared.to)} to compare with.` : ''}`;
		const { totals: before, from, to } = compared;
		const change = (name: 'acquisitionPence' | 'renewalPence') => signed(totals[name] - before[name], money);
		// Refunds are negative.
		const more = before.refundPence - totals.refundPence;
		const refunded =
			more === 0 ? 'refunds as before' : `${money(Math.abs(more))} ${more > 0 ? 'more' : 'less'} in refunds`;
		return `Net revenue is ${money(totals.netPence)}, ${moreText(totals.netPence, before.netPence, money)} ${periodText(from, to)}: first payments ${change('acquisitionPence')}, renewals ${change('renewalPence')}, ${refunded}. ${countChangeText(totals.subscriptions, before.subscriptions, 'new subscription')}.`;
	},
	draw({ every, rows, compared }, _, money, notes) {
		const lineOf = (name: 'netPence' | 'subscriptions' | 'arrivals') =>
			withEarlier(rows, compared?.rows, (row) => ({
				x: String((row as FlatRow)[every]),
				y: row[name],
				part: row.part,
			}));
		return [
			curves(lineOf('netPence'), { title: `Net revenue by ${every}`, money, noted: { notes, every } }),
			curves(lineOf('subscriptions'), { title: `New subscriptions by ${every}`, noted: { notes, every } }),
			curves(lineOf('arrivals'), { title: `Arrivals by ${every}`, noted: { notes, every } }),
		];
	},
});

function upTo(spans: readonly Period[], asOfMs: number): Period[] {
	return spans.map(({ fromMs, toMs }) => ({ fromMs, toMs: Math.min(toMs, asOfMs + 1) }));
}
