import { isFromPayment, type Touch } from '../domain/touch.ts';
import type { ClientReader } from '../store/account/account-reader.ts';
import {
	eachTouch,
	eventsIn,
	eventsOfSubscriptions,
	eventsUpTo,
	firstShown,
	type JourneyEvent,
	subscribersAmong,
	type TouchRow,
	touchesOfVisitors,
	visitorsTouchedIn,
} from '../store/account/journey-rows.ts';
import { parseOrigin } from '../store/account/touches.ts';
import type { Steps } from '../store/steps.ts';
import type { CoveredEvent, JoinedBy } from './coverage.ts';
import { isIn, type Journey, type LostPath, type Period } from './journey.ts';
import { type Grouping, labelOf } from './label.ts';
import { dayMs } from './model.ts';
import { pathOf, withoutRepeats } from './path.ts';
import type { PageSeen } from './paths.ts';
import { type Subscription, subscriptionOf } from './subscription.ts';

export interface ReadOptions {
	/** Nothing later is used. */
	readonly asOfMs: number;
	/** Whether that is in the past. If so, events have the owners that were known then. */
	readonly isPast: boolean;
	/** Only subscriptions with an event in this period are read, unless everything must be. */
	readonly period: Period;
	readonly lookbackDays: number;
	/** The grouping of lost paths; null if they are not needed. */
	readonly lostBy: Grouping | null;
	readonly paymentProviders: ReadonlySet<string>;
}

export interface ReadJourneys {
	/** In the order of `subid`. */
	readonly journeys: readonly Journey[];
	readonly lost: readonly LostPath[];
}

/** With more owners, the touches of all visitors are read in order instead of each owner's. */
const manyOwners = 20_000;
/** Separates the labels of a path; no label contains it. */
const separator = '\u001e';

/** Reads subscriptions with the touches that led to them, and the paths of visitors who did not subscribe. */
export function* readJourneys(options: ReadOptions): Steps<ReadJourneys> {
	const { asOfMs, period, lookbackDays, lostBy } = options;
	const isWhole = readsAll(options);
	const subscriptions = yield* readSubscriptions(options, isWhole);
	const ofOwner = Map.groupBy(subscriptions, ({ owner }) => owner);
	const paths = new Map<Subscription, readonly Touch[]>();
	const lost = new Map<string, number>();
	const subscribers = new Set(ofOwner.keys());
	const touchOf = touchReader(options.paymentProviders);
	const lostUntilMs = asOfMs - lookbackDays * dayMs;
	const visitors = byVisitor((vid, rows) => {
		const own = ofOwner.get(vid);
		// Most visitors have neither subscribed nor been lost for certain.
		if (!own && (!lostBy || subscribers.has(vid) || (rows[0] as TouchRow).at > lostUntilMs)) return;
		const touches = withoutRepeats(rows.map(touchOf).filter((touch) => touch !== null));
		for (const subscription of own ?? [])
			paths.set(subscription, pathOf(touches, subscription.convertedAtMs, lookbackDays));
		const last = touches.at(-1);
		if (own || !lostBy || !last) return;
		if (last.atMs > lostUntilMs || !isIn(period, last.atMs)) return;
		const path = pathOf(touches, last.atMs, lookbackDays).map((touch) => labelOf(touch, lostBy));
		const name = path.join(separator);
		lost.set(name, (lost.get(name) ?? 0) + 1);
	});
	const owners = [...ofOwner.keys()].filter((vid) => vid !== null);
	if (isWhole && (lostBy || owners.length > manyOwners)) yield* eachTouch(asOfMs, visitors.take);
	else {
		yield* touchesOfVisitors(owners, asOfMs, visitors.take);
		visitors.end();
		if (lostBy) {
			const toMs = Math.min(period.toMs, lostUntilMs + 1);
			const seen = (yield* visitorsTouchedIn({ fromMs: atLeast(period.fromMs), toMs })).difference(
				subscribers,
			);
			for (const vid of yield* subscribersAmong([...seen], asOfMs)) subscribers.add(vid);
			yield* touchesOfVisitors([...seen.difference(subscribers)], asOfMs, visitors.take);
		}
	}
	visitors.end();
	return {
		journeys: subscriptions.map((subscription) => ({ subscription, path: paths.get(subscription) ?? [] })),
		lost: [...lost]
			.sort(([a], [b]) => (a < b ? -1 : 1))
			.map(([name, count]) => ({ labels: name.split(separator), visitors: count })),
	};
}

/** Whether the whole account must be read. */
function readsAll({ isPast, period }: Pick<ReadOptions, 'isPast' | 'period'>): boolean {
	return isPast || !(Number.isFinite(period.fromMs) || Number.isFinite(period.toMs));
}

function atLeast(fromMs: number): number {
	return Math.max(fromMs, Number.MIN_SAFE_INTEGER);
}

function* readSubscriptions(
	{ asOfMs, isPast, period }: ReadOptions,
	isWhole: boolean,
): Steps<Subscription[]> {
	const events = isWhole ? yield* eventsUpTo(asOfMs, isPast) : yield* eventsOfPeriod(period, asOfMs);
	const ofSubscription = Map.groupBy(
		events.sort((a, b) => a.atMs - b.atMs || a.id - b.id),
		({ subid }) => subid,
	);
	const acquisitions = [...ofSubscription.values()].map((own) => own.find(isNoRefund));
	const tids = acquisitions.flatMap((event) => (event?.named === 2 ? [event.tid] : []));
	const shown = yield* firstShown(tids, asOfMs);
	return [...ofSubscription]
		.sort(([a], [b]) => (a < b ? -1 : 1))
		.map(([, own]) => {
			const owner = (own.find(isNoRefund) ?? own[0])?.vid ?? null;
			return subscriptionOf(own, owner, (tid) => shown.get(tid) ?? null);
		});
}

function isNoRefund({ revenuePence }: JourneyEvent): boolean {
	return revenuePence >= 0;
}

/** All events of subscriptions with an event in the period. */
function* eventsOfPeriod({ fromMs, toMs }: Period, asOfMs: number): Steps<JourneyEvent[]> {
	const some = yield* eventsIn({ fromMs: atLeast(fromMs), toMs: Math.min(toMs, asOfMs + 1) });
	return yield* eventsOfSubscriptions([...new Set(some.map(({ subid }) => subid))], asOfMs);
}

/** Groups consecutive touches by visitor. */
function byVisitor(onVisitor: (vid: string, rows: readonly TouchRow[]) => void) {
	let rows: TouchRow[] = [];
	const end = () => {
		const [first] = rows;
		if (first) onVisitor(first.vid, rows);
		rows = [];
	};
	const take = (row: TouchRow) => {
		if (rows.length > 0 && rows[0]?.vid !== row.vid) end();
		rows.push(row);
	};
	return { take, end };
}

/** The maximum number of origins whose parsed form is cached. */
const maxOrigins = 50_000;

/** @returns a function that parses a stored touch; null if it comes from a payment provider */
function touchReader(paymentProviders: ReadonlySet<string>): (row: TouchRow) => Touch | null {
	const known = new Map<string, Omit<Touch, 'atMs'> | null>();
	return ({ at, origin }) => {
		let parsed = known.get(origin);
		if (parsed === undefined) {
			const touch = parseOrigin(origin);
			parsed = isFromPayment(touch, paymentProviders) ? null : touch;
			if (known.size >= maxOrigins) known.clear();
			known.set(origin, parsed);
		}
		if (parsed === null) return null;
		// Not a spread, which takes several times as long, and there may be millions.
		const { channel, source, medium, campaign, landing } = parsed;
		return { atMs: at, channel, source, medium, campaign, landing };
	};
}

/** Reads how the events of a period were joined to their visitors. */
export function* readCoverage(
	options: Pick<ReadOptions, 'asOfMs' | 'isPast' | 'period'>,
): Steps<CoveredEvent[]> {
	const { asOfMs, isPast, period } = options;
	const events = readsAll(options)
		? yield* eventsUpTo(asOfMs, isPast)
		: yield* eventsIn({ fromMs: atLeast(period.fromMs), toMs: Math.min(period.toMs, asOfMs + 1) });
	return events.map(({ atMs, evt, revenuePence, vid, named }) => ({
		...{ atMs, evt, revenuePence },
		joinedBy:
			vid === null ? 'unjoined' : (['subid', 'cid', 'tid'] as const satisfies JoinedBy[])[named as 0 | 1 | 2],
	}));
}

const maxPages = 100;
/** The number of owners whose hits are read at once. */
const ownersPerRead = 500;

/** The pages that owners viewed in the days before they converted, with the number of subscriptions. */
export async function readPagesSeen(
	reader: Pick<ClientReader, 'visitorHistories'>,
	journeys: readonly Journey[],
	{ asOfMs, lookbackDays }: Pick<ReadOptions, 'asOfMs' | 'lookbackDays'>,
): Promise<PageSeen[]> {
	const ofOwner = Map.groupBy(
		journeys.map(({ subscription }) => subscription),
		({ owner }) => owner,
	);
	const seen = new Map<string, Set<Subscription>>();
	const owners = [...ofOwner.keys()].filter((vid) => vid !== null);
	for (let from = 0; from < owners.length; from += ownersPerRead)
		for (const { vid, hits } of await reader.visitorHistories(
			owners.slice(from, from + ownersPerRead),
			asOfMs,
		))
			for (const subscription of ofOwner.get(vid) ?? []) {
				const toMs = subscription.convertedAtMs;
				const fromMs = toMs - lookbackDays * dayMs;
				for (const { page, atMs } of hits)
					if (page !== null && atMs > fromMs && atMs <= toMs)
						seen.set(page, (seen.get(page) ?? new Set()).add(subscription));
			}
	return [...seen]
		.map(([page, subscriptions]) => ({ page, subscriptions: subscriptions.size }))
		.sort((a, b) => b.subscriptions - a.subscriptions || (a.page < b.page ? -1 : 1))
		.slice(0, maxPages);
}
