import { compareTexts } from '../../core/domain/compare-texts.ts';
import { type CancellationEvt, isCancellation } from '../../core/domain/event-kind.ts';
import { compareEvents } from '../../core/domain/event-order.ts';
import type { Gateways } from '../../core/domain/mail-gateways.ts';
import { type Subscription, subscriptionOf } from '../../core/domain/subscription-steps.ts';
import { isFromPayment, isWanted, type Touch, type WantedTouch } from '../../core/domain/touch.ts';
import { parseOrigin } from '../../core/store/account/profiles/touches.ts';
import type { Reading } from '../../core/store/steps.ts';
import {
	eventsIn,
	eventsOfSubscriptions,
	eventsUpTo,
	type JourneyEvent,
	visitorsWithEvents,
} from '../reading/journey-events.ts';
import {
	arrivalsIn,
	eachTouch,
	type TouchRow,
	touchesOfVisitors,
	visitorsTouchedIn,
} from '../reading/touch-rows.ts';
import { Arrivals } from './arrivals.ts';
import { isIn, type Journey, type Period, startedIn } from './journey.ts';
import { type Grouping, labelOf } from './label.ts';
import { LostPaths, lostAfterMs } from './lost-paths.ts';
import { isInLookback, type Origin, pathOf, VisitorTouches } from './path.ts';

/** Which subscriptions are read. */
interface SubscriptionOptions {
	/** Nothing later is used. */
	readonly asOfMs: number;
	/** Whether that is in the past. If so, events have the owners that were known then. */
	readonly isPast: boolean;
	/** Only subscriptions with an event in this period are read, unless everything must be. */
	readonly period: Period;
	readonly cancellationEvt: CancellationEvt;
}

export interface JourneyOptions extends SubscriptionOptions {
	readonly lookbackDays: number;
	/** The grouping of arrivals and of lost paths; null if they are not needed. */
	readonly arrivalsBy: Grouping | null;
	/** Arrivals and lost paths are of visitors who have such a touch among them. */
	readonly wanted: WantedTouch;
	readonly paymentProviders: ReadonlySet<string>;
	/** Visitors who are left out of arrivals and lost paths. They have no subscription. */
	readonly gateways: Gateways;
}

export interface ReadJourneys {
	/** By their first event, then by `subid`. */
	readonly journeys: readonly Journey[];
	/** Of visitors who did not subscribe. */
	readonly lost: LostPaths;
	/** Of all visitors, in the period. */
	readonly arrivals: Arrivals;
}

/** With more owners, the touches of all visitors are read in order instead of each owner's. */
const manyOwners = 200_000;

/** Reads subscriptions with the touches that led to them, and the paths of visitors who did not subscribe. */
export function* readJourneys(options: JourneyOptions): Reading<ReadJourneys> {
	const { asOfMs, period, lookbackDays, arrivalsBy, wanted, gateways } = options;
	const isWhole = readsAll(options);
	const { subscriptions, others } = yield* readSubscriptionsOf(options);
	// Whoever has events of somebody else's subscription is not lost either.
	const owned = [
		...subscriptions.flatMap(({ owner }, place) => (owner === null ? [] : [{ owner, place }])),
		...others.map((owner) => ({ owner, place: undefined })),
	].sort((a, b) => compareTexts(a.owner, b.owner));
	const paths: (readonly Touch[])[] = subscriptions.map(() => []);
	const lost = new LostPaths();
	const arrivals = new Arrivals(lost.labels);
	const touches = new VisitorTouches<ReportedOrigin>();
	const readOrigin = originReader(options.paymentProviders, (origin) =>
		arrivalsBy ? lost.labels.numberOf(labelOf(origin, arrivalsBy)) : 0,
	);
	/** Those who have events, but no subscription in the period. */
	let subscribed: ReadonlySet<string> = new Set();
	let next = 0;
	let visitor = '';
	let isOwner = false;
	const take = (row: TouchRow) => {
		// By index, which costs less than destructuring.
		const vid = row[0];
		if (vid !== visitor) {
			end();
			visitor = vid;
			// Visitors come in the order of owners: a merge costs a tenth of a look-up of each.
			while (next < owned.length && (owned[next]?.owner as string) < vid) next++;
			isOwner = owned[next]?.owner === vid;
		}
		if (!isOwner && (!arrivalsBy || gateways.has(vid))) return;
		const origin = readOrigin(row[2]);
		touches.add(row[1], origin, !origin.isPayment);
	};
	const hasWanted = (counts: (atMs: number) => boolean) => {
		if (wanted.length === 0) return true;
		for (let touch = 0; touch < touches.length; touch++)
			if (counts(touches.atMs(touch)) && isWanted(touches.origin(touch), wanted)) return true;
		return false;
	};
	const end = () => {
		if (arrivalsBy && hasWanted((atMs) => isIn(period, atMs))) {
			for (let touch = 0; touch < touches.length; touch++)
				if (isIn(period, touches.atMs(touch))) arrivals.add(touches.origin(touch).label, touches.atMs(touch));
			arrivals.end();
		}
		if (isOwner) {
			const all = touches.touches();
			for (; owned[next]?.owner === visitor; next++) {
				const place = owned[next]?.place;
				if (place === undefined) continue;
				const { convertedAtMs } = subscriptions[place] as Subscription;
				paths[place] = pathOf(all, convertedAtMs, lookbackDays);
			}
		} else if (touches.length > 0 && !subscribed.has(visitor)) {
			const lastAtMs = touches.atMs(touches.length - 1);
			if (isIn(period, lastAtMs) && hasWanted((atMs) => isInLookback(atMs, lastAtMs, lookbackDays))) {
				for (let touch = 0; touch < touches.length; touch++)
					if (isInLookback(touches.atMs(touch), lastAtMs, lookbackDays))
						lost.step(touches.origin(touch).label);
				lost.end(lastAtMs);
			}
		}
		touches.clear();
		visitor = '';
	};
	const owners = [...new Set(owned.map(({ owner }) => owner))];
	if (isWhole && (arrivalsBy || owners.length > manyOwners)) yield* eachTouch(asOfMs, take);
	else {
		yield* touchesOfVisitors(owners, asOfMs, take);
		if (arrivalsBy) {
			end();
			const seen = yield* visitorsTouchedIn(upTo(asOfMs, period));
			for (const vid of owners) seen.delete(vid);
			subscribed = yield* visitorsWithEvents([...seen], asOfMs);
			yield* touchesOfVisitors([...seen].sort(), asOfMs, take);
		}
	}
	end();
	const journeys = subscriptions.map((subscription, place) => ({ subscription, path: paths[place] ?? [] }));
	const converted = startedIn(journeys, period).map(({ subscription: { convertedAtMs }, path }) => ({
		path,
		convertedAtMs,
	}));
	lost.decide(asOfMs, lostAfterMs(converted, lookbackDays));
	return { journeys, lost, arrivals };
}

/** Reads subscriptions without their touches. */
export function* readSubscriptions(options: SubscriptionOptions): Reading<Journey[]> {
	return withoutTouches(yield* readSubscriptionsOf(options));
}

/** Whether all events are read, and not only those of a period. */
export function readsAll({ isPast, period }: Pick<SubscriptionOptions, 'isPast' | 'period'>): boolean {
	return isPast || !(Number.isFinite(period.fromMs) || Number.isFinite(period.toMs));
}

/** What of a period is not later than a moment, in numbers that a database has. */
function upTo(asOfMs: number, { fromMs, toMs }: Period): Period {
	return { fromMs: Math.max(fromMs, Number.MIN_SAFE_INTEGER), toMs: Math.min(toMs, asOfMs + 1) };
}

/** Some subscriptions up to a moment, by their first event, without their touches. */
export function* readSubscriptionsWith(
	subids: readonly string[],
	asOfMs: number,
	cancellationEvt: CancellationEvt,
): Reading<Journey[]> {
	return withoutTouches(subscriptionsOf(yield* eventsOfSubscriptions(subids, asOfMs), cancellationEvt));
}

function withoutTouches({ subscriptions }: ReturnType<typeof subscriptionsOf>): Journey[] {
	return subscriptions.map((subscription) => ({ subscription, path: [] }));
}

function* readSubscriptionsOf(options: SubscriptionOptions): Reading<ReturnType<typeof subscriptionsOf>> {
	const { asOfMs, isPast, period, cancellationEvt } = options;
	if (readsAll(options)) return subscriptionsOf(yield* eventsUpTo(asOfMs, isPast), cancellationEvt);
	const some = yield* eventsIn(upTo(asOfMs, period));
	const subids = new Set(some.map(({ subid }) => subid));
	return subscriptionsOf(yield* eventsOfSubscriptions([...subids], asOfMs), cancellationEvt);
}

/** @returns also visitors with events of other visitors' subscriptions */
function subscriptionsOf(
	events: JourneyEvent[],
	cancellationEvt: CancellationEvt,
): { subscriptions: Subscription[]; others: string[] } {
	const ofSubscription = Map.groupBy(events.sort(compareJourneyEvents), ({ subid }) => subid);
	// They are in this order already, except those of the same moment. Sorting by `subid` alone costs ten times as much.
	const groups = [...ofSubscription.values()].sort(
		([a], [b]) =>
			(a?.atMs as number) - (b?.atMs as number) || compareTexts(a?.subid as string, b?.subid as string),
	);
	const others = new Set<string>();
	const subscriptions = groups.map((own) => {
		const start = own.find((event) => event.revenuePence >= 0 && !isCancellation(event, cancellationEvt));
		const owner = (start ?? own[0])?.vid ?? null;
		for (const { vid } of own) if (vid !== null && vid !== owner) others.add(vid);
		return subscriptionOf(own, owner, cancellationEvt);
	});
	return { subscriptions, others: [...others] };
}

/** Events that pay the same at one moment are ordered by what reports tell of them, so that the order of arrival decides nothing. */
function compareJourneyEvents(a: JourneyEvent, b: JourneyEvent): number {
	return (
		compareEvents(a, b) ||
		(a.shownAtMs ?? Number.MAX_VALUE) - (b.shownAtMs ?? Number.MAX_VALUE) ||
		compareTexts(a.vid ?? '', b.vid ?? '')
	);
}

/** All touches of a visitor up to a moment, by time. */
export function* readTouches(
	vid: string,
	{ asOfMs, paymentProviders }: Pick<JourneyOptions, 'asOfMs' | 'paymentProviders'>,
): Reading<readonly Touch[]> {
	const read = yield* readTouchesOf([vid], { asOfMs, paymentProviders });
	return read.get(vid) ?? [];
}

/** All touches of several visitors up to a moment, by time. */
export function* readTouchesOf(
	vids: readonly string[],
	{ asOfMs, paymentProviders }: Pick<JourneyOptions, 'asOfMs' | 'paymentProviders'>,
): Reading<ReadonlyMap<string, readonly Touch[]>> {
	const readOrigin = originReader(paymentProviders);
	const touches = new Map<string, VisitorTouches<ReportedOrigin>>();
	yield* touchesOfVisitors(vids, asOfMs, ([vid, atMs, text]) => {
		const origin = readOrigin(text);
		touches.getOrInsertComputed(vid, () => new VisitorTouches()).add(atMs, origin, !origin.isPayment);
	});
	return new Map([...touches].map(([vid, own]) => [vid, own.touches()]));
}

/** How often visitors arrived in each of some spans of time, which follow each other. */
export function* readArrivals(
	spans: readonly Period[],
	{ asOfMs, paymentProviders, wanted, gateways }: JourneyOptions,
): Reading<number[]> {
	const arrivals = spans.map(() => 0);
	const [first, last] = [spans[0], spans.at(-1)];
	if (!first || !last) return arrivals;
	const readOrigin = originReader(paymentProviders);
	let place = 0;
	const period = upTo(asOfMs, { fromMs: first.fromMs, toMs: last.toMs });
	yield* arrivalsIn(period, (atMs, text, vid) => {
		while (atMs >= (spans[place] as Period).toMs) place++;
		const origin = readOrigin(text);
		if (!origin.isPayment && !gateways.has(vid) && isWanted(origin, wanted)) (arrivals[place] as number)++;
	});
	return arrivals;
}

/** A parsed origin. */
interface ReportedOrigin extends Origin {
	/** The number of its label among those of arrivals and lost paths. */
	readonly label: number;
	/** Whether it is a payment provider, from which nobody arrives. */
	readonly isPayment: boolean;
}

/** The maximum number of origins whose parsed form is cached. */
const maxOrigins = 50_000;

/** @param numberOf numbers the label of an origin that is no payment provider. @returns a function that parses a stored origin */
function originReader(
	paymentProviders: ReadonlySet<string>,
	numberOf: (origin: Origin) => number = () => 0,
): (origin: string) => ReportedOrigin {
	const known = new Map<string, ReportedOrigin>();
	return (text) => {
		let parsed = known.get(text);
		if (parsed === undefined) {
			const origin = parseOrigin(text);
			const isPayment = isFromPayment(origin, paymentProviders);
			parsed = { ...origin, label: isPayment ? 0 : numberOf(origin), isPayment };
			if (known.size >= maxOrigins) known.clear();
			known.set(text, parsed);
		}
		return parsed;
	};
}

/** Reads the events of a period. */
export function* readEvents(options: Omit<SubscriptionOptions, 'cancellationEvt'>): Reading<JourneyEvent[]> {
	const { asOfMs, isPast, period } = options;
	return readsAll(options) ? yield* eventsUpTo(asOfMs, isPast) : yield* eventsIn(upTo(asOfMs, period));
}
