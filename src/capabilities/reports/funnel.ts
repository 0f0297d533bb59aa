import { compareTexts } from '../../core/domain/compare-texts.ts';
import { isMissingKey } from '../../core/domain/missing-key.ts';
import type { Touch } from '../../core/domain/touch.ts';
import { dayMs } from '../../core/durations.ts';
import { counted } from '../../core/format/numbers.ts';
import { eachVisitorsHits, ownersOfTids, type VisitorsHit } from '../../kit/reading/hits-by-visitor.ts';
import { boundedText } from '../../kit/reports/answer-text.ts';
import { isIn, type Period } from '../../kit/reports/journey.ts';
import { quotedName } from '../../kit/reports/label.ts';
import { readTouchesOf } from '../../kit/reports/read-journeys.ts';
import { reportThat, styled } from '../../kit/reports/report.ts';
import { bars } from '../../kit/reports/report-rows.ts';
import { withColumns } from '../../kit/reports/report-table.ts';
import { withBounds } from '../../kit/reports/share-interval.ts';

const parts = ['all', 'channel', 'device'] as const;

/** What became of the visitors who saw a page: all of them, or those who had come by a channel or had a device. */
class Step {
	visitors = 0;
	waiting = 0;
	began = 0;
	paid = 0;
}

export type FunnelRow = ReturnType<typeof rowOf>;

/** Counts, for each page, who saw it, and began a sale in the time after it. */
class Funnel {
	/** By page, then by part and value. */
	readonly #pages = new Map<string, Map<string, Step>>();
	/** Who showed a `tid` in the time after a page. */
	readonly #shown: { readonly vid: string; readonly tids: ReadonlySet<string>; readonly steps: Step[] }[] =
		[];
	readonly #period: Period;
	readonly #withinMs: number;
	readonly #asOfMs: number;

	constructor(period: Period, withinMs: number, asOfMs: number) {
		this.#period = period;
		this.#withinMs = withinMs;
		this.#asOfMs = asOfMs;
	}

	/** All `tid`s that may have been paid for. */
	get tids(): string[] {
		return [...new Set(this.#shown.flatMap(({ tids }) => [...tids]))];
	}

	/** @param hits of one visitor, in order of time, as their arrivals are */
	add(vid: string, hits: readonly VisitorsHit[], arrivals: readonly Touch[] = []): void {
		const seen = new Set<string>();
		for (const { atMs, body } of hits) {
			if (body.page === null || seen.has(body.page) || !isIn(this.#period, atMs)) continue;
			seen.add(body.page);
			const channel = arrivals.findLast((arrival) => arrival.atMs <= atMs)?.channel ?? 'direct';
			const steps = this.#stepsOf(body.page, channel, body.device);
			if (atMs + this.#withinMs > this.#asOfMs) {
				for (const step of steps) step.waiting++;
				continue;
			}
			for (const step of steps) step.visitors++;
			const tids = new Set(
				hits
					.filter((hit) => hit.atMs >= atMs && hit.atMs <= atMs + this.#withinMs)
					.flatMap((hit) => hit.body.events.flatMap(({ tid }) => tid ?? []))
					.filter((tid) => !isMissingKey(tid)),
			);
			if (tids.size === 0) continue;
			for (const step of steps) step.began++;
			this.#shown.push({ vid, tids, steps });
		}
	}

	/** @param owners the visitors of the sales that were uploaded, by `tid` */
	rows(owners: ReadonlyMap<string, string | null>, maxPages: number) {
		for (const { vid, tids, steps } of this.#shown)
			if ([...tids].some((tid) => owners.get(tid) === vid)) for (const step of steps) step.paid++;
		const seenBy = (steps: ReadonlyMap<string, Step>) => {
			const { visitors, waiting } = steps.get('["all",""]') as Step;
			return visitors + waiting;
		};
		return [...this.#pages]
			.sort(([a, some], [b, others]) => seenBy(others) - seenBy(some) || compareTexts(a, b))
			.slice(0, maxPages)
			.flatMap(([page, steps]) =>
				[...steps]
					.map(([name, step]) => {
						const [part, value] = JSON.parse(name) as [(typeof parts)[number], string];
						return rowOf(page, part, value, step);
					})
					.sort(
						(a, b) =>
							parts.indexOf(a.part) - parts.indexOf(b.part) ||
							b.visitors - a.visitors ||
							compareTexts(a.value, b.value),
					),
			);
	}

	/** How many pages were seen. */
	get pages(): number {
		return this.#pages.size;
	}

	#stepsOf(page: string, channel: string, device: string): Step[] {
		const steps = this.#pages.getOrInsertComputed(page, () => new Map<string, Step>());
		const of = { all: '', channel, device };
		return parts.map((part) => steps.getOrInsertComputed(JSON.stringify([part, of[part]]), () => new Step()));
	}
}

function rowOf(
	page: string,
	part: (typeof parts)[number],
	value: string,
	{ visitors, waiting, began, paid }: Step,
) {
	const rateOf = (count: number) =>
		visitors === 0 ? { share: null, low: null, high: null } : withBounds(count / visitors, visitors);
	const ofPaid = rateOf(paid);
	return {
		page: quotedName(page),
		part,
		value: value === '' ? '' : quotedName(value),
		visitors,
		// Their time after the page is not over.
		waiting,
		began,
		beganRate: rateOf(began).share,
		paid,
		paidRate: ofPaid.share,
		// Of the 95 % interval of the rate of those who paid.
		low: ofPaid.low,
		high: ofPaid.high,
	};
}

export const funnelReport = reportThat({
	kind: 'funnel',
	title: 'Funnel by page',
	summary: 'how many who saw a page began to buy, and paid',
	definition:
		'By page, and for each page by channel and device: `visitors` saw the page in the period. Each counts once, from the first view on. `began` of them began a sale within `days`: a hit showed a `tid`. `paid` of these paid, however late: an uploaded event with that `tid` belongs to the visitor. Visitors whose days are not over are `waiting`, and in no other figure. `low` and `high` are the 95 % interval of `paidRate`.',
	parameters: ['from', 'to', 'asOf', 'timezone', 'compare', 'days', 'top', 'include'],
	initial: { by: [], days: 7 },
	columns: {
		...styled(['beganRate', 'paidRate', 'low', 'high'], { isShare: true }),
		beganRate: { isShare: true, heading: 'began, of visitors' },
		paidRate: { isShare: true, heading: 'paid, of visitors' },
	},
	async make({ period, asOfMs, query: { days, top }, read, gateways: findGateways }) {
		const gateways = await findGateways();
		const funnel = new Funnel(period, days * dayMs, asOfMs);
		const rows = await read(function* (options) {
			let arrivals: ReadonlyMap<string, readonly Touch[]> = new Map();
			const add = (vid: string, hits: readonly VisitorsHit[]) => {
				if (!gateways.has(vid)) funnel.add(vid, hits, arrivals.get(vid));
			};
			yield* eachVisitorsHits(asOfMs, add, function* (vids) {
				arrivals = yield* readTouchesOf(vids, options);
			});
			return funnel.rows(yield* ownersOfTids(funnel.tids, options), top);
		});
		const notes = [
			'This does not say that a page makes visitors buy: those who mean to buy look at it. Whoever paid in another browser, or on a page that showed no tid, counts as not having paid.',
		];
		if (funnel.pages > top) notes.push(`These are the ${top} most seen of ${counted(funnel.pages, 'page')}.`);
		return { days, rows, notes };
	},
	answer({ rows, days }) {
		const most = rows
			.filter(({ part, visitors }) => part === 'all' && visitors > 0)
			.toSorted((a, b) => b.visitors - a.visitors)[0];
		if (!most || most.paidRate === null || most.low === null || most.high === null) return null;
		const { page, visitors, paidRate: share, low, high } = most;
		return `${page} was seen by most: of its ${counted(visitors, 'visitor')}, ${boundedText({ share, low, high })} began to buy within ${counted(days, 'day')} and paid.`;
	},
	parts: ({ rows }) => {
		const figures = ['visitors', 'waiting', 'began', 'beganRate', 'paid', 'paidRate', 'low', 'high'] as const;
		const some = (isWhole: boolean) => rows.filter(({ part }) => (part === 'all') === isWhole);
		return [
			{ title: 'Pages', rows: withColumns(some(true), ['page', ...figures]) },
			{
				title: 'By channel and device',
				rows: withColumns(some(false), ['page', 'part', 'value', ...figures]),
			},
		];
	},
	draw: ({ rows }) =>
		bars(
			rows
				.filter(({ part }) => part === 'all')
				.map(({ page, paidRate, low, high }) => ({ page, paidRate, low, high })),
			'paidRate',
			{
				title: 'Share of the visitors of a page who paid, with the 95 % interval',
				isShare: true,
				bounds: ['low', 'high'],
			},
		),
});
