import { isFromPayment, type Touch } from '../domain/touch.ts';
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
import { LostPaths } from './lost-paths.ts';
import { dayMs } from './model.ts';
import { pathOf, withoutRepeats } from './path.ts';
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
const manyOwners = 200_000;

/** Reads subscriptions with the touches that led to them, and the paths of visitors who did not subscribe. */
export function* readJourneys(options: ReadOptions): Steps<ReadJourneys> {
	const { asOfMs, period, lookbackDays, lostBy } = options;
	const isWhole = readsAll(options);
	const subscriptions = yield* readSubscriptions(options, isWhole);
	const owned = subscriptions
		.flatMap(({ owner }, place) => (owner === null ? [] : [{ owner, place }]))
		.sort((a, b) => compare(a.owner, b.owner));
	const paths: (readonly Touch[])[] = subscriptions.map(() => []);
	const lost = new LostPaths();
	const readTouch = touchReader(options, lost);
	const lostUntilMs = asOfMs - lookbackDays * dayMs;
	let next = 0;
	const visitors = new VisitorTouches((vid, rows) => {
		// Visitors come in the order of owners: a merge costs a tenth of a look-up of each.
		while (next < owned.length && (owned[next]?.owner as string) < vid) next++;
		const isOwner = owned[next]?.owner === vid;
		// Most visitors have neither subscribed nor been lost for certain.
		if (!isOwner && (!lostBy || (rows[0] as TouchRow)[1] > lostUntilMs)) return;
		const touches = withoutRepeats(readTouches(rows, readTouch));
		if (isOwner) {
			for (; owned[next]?.owner === vid; next++) {
				const { place } = owned[next] as (typeof owned)[number];
				const { convertedAtMs } = subscriptions[place] as Subscription;
				paths[place] = pathOf(touches, convertedAtMs, lookbackDays);
			}
			return;
		}
		const last = touches.at(-1);
		if (!last || last.atMs > lostUntilMs || !isIn(period, last.atMs)) return;
		for (const { label } of pathOf(touches, last.atMs, lookbackDays)) lost.step(label);
		lost.end();
	});
	const owners = [...new Set(owned.map(({ owner }) => owner))];
	if (isWhole && (lostBy || owners.length > manyOwners)) yield* eachTouch(asOfMs, visitors.take);
	else {
		yield* touchesOfVisitors(owners, asOfMs, visitors.take);
		visitors.end();
		if (lostBy) {
			const toMs = Math.min(period.toMs, lostUntilMs + 1);
			const seen = yield* visitorsTouchedIn({ fromMs: atLeast(period.fromMs), toMs });
			for (const vid of owners) seen.delete(vid);
			for (const vid of yield* subscribersAmong([...seen], asOfMs)) seen.delete(vid);
			yield* touchesOfVisitors([...seen].sort(), asOfMs, visitors.take);
		}
	}
	visitors.end();
	return {
		journeys: subscriptions.map((subscription, place) => ({ subscription, path: paths[place] ?? [] })),
		lost: [...lost.paths()],
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
	const groups = [...ofSubscription.values()].sort(([a], [b]) => compare(a?.subid, b?.subid));
	const acquisitions = groups.map((own) => own.find(isNoRefund));
	const tids = acquisitions.flatMap((event) => (event?.named === 2 ? [event.tid] : []));
	const shown = yield* firstShown(tids, asOfMs);
	return groups.map((own, place) => {
		const owner = (acquisitions[place] ?? own[0])?.vid ?? null;
		return subscriptionOf(own, owner, (tid) => shown.get(tid) ?? null);
	});
}

function compare(a = '', b = ''): number {
	return a < b ? -1 : a > b ? 1 : 0;
}

function isNoRefund({ revenuePence }: JourneyEvent): boolean {
	return revenuePence >= 0;
}

/** All events of subscriptions with an event in the period. */
function* eventsOfPeriod({ fromMs, toMs }: Period, asOfMs: number): Steps<JourneyEvent[]> {
	const some = yield* eventsIn({ fromMs: atLeast(fromMs), toMs: Math.min(toMs, asOfMs + 1) });
	return yield* eventsOfSubscriptions([...new Set(some.map(({ subid }) => subid))], asOfMs);
}

/** A touch with the number of its label among those of lost paths. */
type NumberedTouch = Touch & { readonly label: number };

/** The maximum number of origins whose parsed form is cached. */
const maxOrigins = 50_000;

/** @returns a function that parses a stored touch; null if it comes from a payment provider */
function touchReader(
	{ paymentProviders, lostBy }: Pick<ReadOptions, 'paymentProviders' | 'lostBy'>,
	lost: LostPaths,
): (row: TouchRow) => NumberedTouch | null {
	const known = new Map<string, NumberedTouch | null>();
	return (row) => {
		// By index, which costs less than destructuring.
		const atMs = row[1];
		const origin = row[2];
		let parsed = known.get(origin);
		if (parsed === undefined) {
			const touch = { atMs, ...parseOrigin(origin) };
			const label = lostBy ? lost.numberOf(labelOf(touch, lostBy)) : 0;
			parsed = isFromPayment(touch, paymentProviders) ? null : { ...touch, label };
			if (known.size >= maxOrigins) known.clear();
			known.set(origin, parsed);
		}
		if (parsed === null) return null;
		// Not a spread, which takes several times as long, and there may be millions.
		const { channel, source, medium, campaign, landing, label } = parsed;
		return { atMs, channel, source, medium, campaign, landing, label };
	};
}

function readTouches(
	rows: readonly TouchRow[],
	readTouch: (row: TouchRow) => NumberedTouch | null,
): NumberedTouch[] {
	const touches: NumberedTouch[] = [];
	for (const row of rows) {
		const touch = readTouch(row);
		if (touch !== null) touches.push(touch);
	}
	return touches;
}

/** Groups consecutive touches by visitor. */
class VisitorTouches {
	readonly #onVisitor: (vid: string, rows: readonly TouchRow[]) => void;
	#rows: TouchRow[] = [];

	constructor(onVisitor: (vid: string, rows: readonly TouchRow[]) => void) {
		this.#onVisitor = onVisitor;
	}

	readonly take = (row: TouchRow) => {
		if (this.#rows[0] !== undefined && this.#rows[0][0] !== row[0]) this.end();
		this.#rows.push(row);
	};

	end(): void {
		if (this.#rows[0]) this.#onVisitor(this.#rows[0][0], this.#rows);
		this.#rows = [];
	}
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
