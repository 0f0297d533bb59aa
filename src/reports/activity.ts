import { firstHitMs, hitsIn } from '../store/account/reading/journey-rows.ts';
import type { SpanLength } from './calendar.ts';
import {
	amountsOf,
	countedSteps,
	firstEventMs,
	type Journey,
	type Period,
	spansOf,
	type Totals,
	totalOf,
} from './journey.ts';
import { readArrivals } from './read-journeys.ts';
import { type FlatRow, reportThat } from './report.ts';
import { curves } from './report-curves.ts';
import { commonParameters } from './report-query.ts';

/** What came in one span. */
export interface ActivityRow extends Totals {
	/** Null where a filter chooses subscriptions, which hits do not belong to. */
	readonly hits: number | null;
	/** Arrivals of visitors; null for the same reason, unless the filter is a channel. */
	readonly visits: number | null;
	readonly renewals: number;
	readonly refunds: number;
}

/** Counts what happened in each of some spans. */
export function describeEvents(
	journeys: readonly Pick<Journey, 'subscription'>[],
	spans: readonly Period[],
): (Totals & { renewals: number; refunds: number })[] {
	const steps = journeys.flatMap(({ subscription }) => subscription.steps).sort((a, b) => a.atMs - b.atMs);
	let next = steps.findIndex(({ atMs }) => atMs >= (spans[0]?.fromMs ?? Number.POSITIVE_INFINITY));
	return spans.map(({ toMs }) => {
		const from = next;
		while (next >= 0 && next < steps.length && (steps[next] as (typeof steps)[number]).atMs < toMs) next++;
		const own = from < 0 ? [] : steps.slice(from, next);
		const countOf = (of: string) => own.filter(({ kind }) => kind === of).length;
		return {
			...totalOf([{ amounts: amountsOf(own) }]),
			...{ renewals: countOf('renewal'), refunds: countOf('refund') },
		};
	});
}

export const activityReport = reportThat({
	kind: 'activity',
	title: 'Activity',
	summary: 'what came in, by day, week or month',
	definition:
		'By day, week or month: hits; visits, which are arrivals of visitors, as in `attribution`; acquisitions (`subscriptions`), renewals and refunds, with their pence; and `netPence`, the sum of the three. Hits and visits belong to no subscription: with a filter they are left out, but for visits by a channel.',
	parameters: [...commonParameters, 'every', 'channel', 'segment'],
	initial: { by: [], every: 'day' },
	async make({ query, period, asOfMs, calendar, journeys: readJourneys, read }) {
		const every: SpanLength = query.every ?? 'day';
		const { journeys } = await readJourneys('events');
		const firstMs = Math.min(firstEventMs(journeys), await read(firstHitMs));
		const spans = spansOf(firstMs, every, { period, calendar, asOfMs });
		const ofAll = query.evt === null && query.segment === null;
		const visits = ofAll ? await read((options) => readArrivals(spans, query.channel, options)) : null;
		const hits = ofAll && query.channel === null ? await read(() => hitsIn(upTo(spans, asOfMs))) : null;
		const rows = describeEvents(journeys, spans).map(
			({ subscriptions, renewals, refunds, ...pence }, place) => ({
				...{ [every]: spans[place]?.name as string },
				...{ hits: hits?.[place] ?? null, visits: visits?.[place] ?? null },
				...{ subscriptions, renewals, refunds, ...pence },
			}),
		);
		const counted = journeys.map(({ subscription }) => ({
			amounts: amountsOf(countedSteps(subscription, period, 'event')),
		}));
		return { every, totals: totalOf(counted), rows };
	},
	columns: {
		hits: { isOptional: true },
		visits: { isOptional: true },
		acquisitionPence: { heading: 'acquired' },
		renewalPence: { heading: 'renewed' },
		refundPence: { heading: 'refunded' },
	},
	draw({ every, rows }, _, money) {
		const x = (row: FlatRow) => String(row[every]);
		const lineOf = (name: 'netPence' | 'subscriptions' | 'visits') => ({
			name: '',
			points: rows.map((row) => ({ x: x(row as FlatRow), y: row[name] })),
		});
		return [
			curves([lineOf('netPence')], { title: `Net revenue by ${every}`, money }),
			curves([lineOf('subscriptions')], { title: `New subscriptions by ${every}` }),
			curves([lineOf('visits')], { title: `Visits by ${every}` }),
		];
	},
});

function upTo(spans: readonly Period[], asOfMs: number): Period[] {
	return spans.map(({ fromMs, toMs }) => ({ fromMs, toMs: Math.min(toMs, asOfMs + 1) }));
}
