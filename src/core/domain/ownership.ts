import { compareTexts } from './compare-texts.ts';
import { compareEvents, type OrderedEvent } from './event-order.ts';
import { isMissingKey } from './missing-key.ts';
import type { SharedKeys } from './shared-key.ts';

/**
 * Whose a subscription event is: of the visitor who showed its `tid` (a sale begun on a page), else of the visitor who
 * showed its `cid`, else of whoever owns its subscription, so that renewals follow the first sale. Who showed a key first
 * holds it, of those who proved that it is theirs, else of all. Whoever holds the `tid` by a claim alone yields to who has proved
 * the `cid`. An event that names a customer is never another customer's: of the visitor who showed its `tid`, and of the owner
 * of its subscription, only where they have shown that customer, or none. The order in which hits and uploads arrive does
 * not matter.
 */
export interface Owner {
	readonly vid: string;
	/** 2: the event's `tid` names the visitor; 1: its `cid` does; 0: it follows its subscription. */
	readonly named: 0 | 1 | 2;
}

/** What an event can name its owner by. */
export interface Joinable {
	readonly tid: string;
	readonly cid: string | null;
}

/** The key by which a `tid` is shown and looked up. */
export function tidKey(tid: string): string {
	return `t:${tid}`;
}

/** The key by which a `cid` is shown and looked up. */
export function cidKey(cid: string): string {
	return `c:${cid}`;
}

/** The key of a subscription. */
export function subscriptionKey(subid: string): string {
	return `s:${subid}`;
}

/** The `tid` and the `cid` of an event that join it, without those that stand for a missing one. */
export function joiningKeys({ tid, cid }: Joinable): { tid: string | undefined; cid: string | undefined } {
	return {
		tid: isMissingKey(tid) ? undefined : tid,
		cid: cid === null || isMissingKey(cid) ? undefined : cid,
	};
}

/** Whether a `cid` names a customer. */
export function namesCustomer(cid: string | null, shared: SharedKeys): cid is string {
	return cid !== null && !isMissingKey(cid) && !shared.has(cidKey(cid));
}

/** Whether a key of the event stands for a missing one, so that it joins nobody by it. */
export function isUnjoinable({ tid, cid, subid }: Joinable & { readonly subid: string }): boolean {
	return isMissingKey(tid) || isMissingKey(subid) || (cid !== null && isMissingKey(cid));
}

/** Whether too many share a key of the event, so that it joins nobody by it. */
export function hasSharedKey(
	{ tid, cid, subid }: Joinable & { readonly subid: string },
	shared: SharedKeys,
): boolean {
	return (
		shared.has(tidKey(tid)) || shared.has(subscriptionKey(subid)) || (cid !== null && shared.has(cidKey(cid)))
	);
}

/** The keys by which events are joined to visitors. */
export function eventKeys(events: readonly Joinable[]): string[] {
	const keys: string[] = [];
	for (const { tid, cid } of events) {
		if (!isMissingKey(tid)) keys.push(tidKey(tid));
		if (cid !== null && !isMissingKey(cid)) keys.push(cidKey(cid));
	}
	return keys;
}

/** What is known of visitors when an event is joined. */
export interface KnownVisitors {
	/** The `vid` that holds a key. */
	readonly holderOf: (key: string) => KeyHolder | undefined;
	readonly isAnothers: IsAnothers;
}

/** Whether a visitor has shown customers, and this one is not among them. */
export type IsAnothers = (vid: string, cid: string) => boolean;

/** The visitor who holds a key. */
export interface KeyHolder {
	readonly vid: string;
	/** Whether the visitor showed it with proof, or where the account asks for none. */
	readonly isProven: boolean;
}

/** The visitor who holds a key, with when it first showed the key, and since when it holds it. */
export interface Holder extends KeyHolder {
	readonly atMs: number;
	readonly fromMs: number;
}

/** A visitor who has shown a key. */
export interface ShownKey {
	readonly vid: string;
	/** When it first did. */
	readonly atMs: number;
	/** When it first did so with proof, or where the account asked for none; `neverProven` if it never did. */
	readonly provenAtMs: number;
}

/** No moment is as late, and both engines have this number. */
export const neverProven = Number.MAX_SAFE_INTEGER;

/**
 * Who of several visitors holds a key: the first to prove it, else the first to show it; of several at the same moment, the
 * smallest `vid`.
 */
export function compareHolders(a: ShownKey, b: ShownKey): number {
	return a.provenAtMs - b.provenAtMs || a.atMs - b.atMs || compareTexts(a.vid, b.vid);
}

/** Whether the holder of an event's `tid` yields to the holder of its `cid`. */
function yields(byTid: KeyHolder, byCid: KeyHolder | undefined): boolean {
	return byCid !== undefined && byCid.vid !== byTid.vid && byCid.isProven && !byTid.isProven;
}

/** The visitor whom an event itself names. */
export function namedOwner(event: Joinable, { holderOf, isAnothers }: KnownVisitors): Owner | undefined {
	const { tid, cid } = joiningKeys(event);
	const byTid = tid === undefined ? undefined : holderOf(tidKey(tid));
	const byCid = cid === undefined ? undefined : holderOf(cidKey(cid));
	const isAnothersTid = byTid !== undefined && cid !== undefined && isAnothers(byTid.vid, cid);
	if (byTid && !isAnothersTid && !yields(byTid, byCid)) return { vid: byTid.vid, named: 2 };
	return byCid && { vid: byCid.vid, named: 1 };
}

/**
 * The owner of an event.
 * @param named whom it names
 * @param subscriber the owner of its subscription
 */
export function ownerOf(
	event: Joinable & { readonly subid: string },
	named: Owner | undefined,
	subscriber: string | undefined,
	isAnothers: IsAnothers,
): Owner | undefined {
	if (named) return named;
	const { cid } = joiningKeys(event);
	if (subscriber === undefined || isMissingKey(event.subid)) return undefined;
	return cid !== undefined && isAnothers(subscriber, cid) ? undefined : { vid: subscriber, named: 0 };
}

/** What decides which event of a subscription gives it its owner. */
export interface DecidingEvent extends OrderedEvent {
	readonly tid: string;
}

/**
 * A subscription is all events of one `subid`. It belongs to the visitor whom its acquisition names, else to the one whom
 * its earliest event with a name names; refunds come last. The order of arrival decides nothing.
 */
function compareDeciding(a: DecidingEvent, b: DecidingEvent): number {
	return (
		Number(a.revenuePence < 0) - Number(b.revenuePence < 0) ||
		compareEvents(a, b) ||
		compareTexts(a.tid, b.tid)
	);
}

/** The order of `compareDeciding` in SQL; both engines store the fields in these columns. */
export const decidingOrder = '(rvn < 0), received_at, rvn DESC, evt, tid';

/** The owners of all subscriptions among events. @param namedOf returns the visitor whom an event names */
export function subscribersAmong<Event extends DecidingEvent & { readonly subid: string }>(
	events: Iterable<Event>,
	namedOf: (event: Event) => Owner | undefined,
): Map<string, string> {
	const first = new Map<string, { readonly event: Event; readonly vid: string }>();
	for (const event of events) {
		const named = isMissingKey(event.subid) ? undefined : namedOf(event);
		if (!named) continue;
		const known = first.get(event.subid);
		if (!known || compareDeciding(event, known.event) < 0) first.set(event.subid, { event, vid: named.vid });
	}
	return new Map(first.entries().map(([subid, { vid }]) => [subid, vid]));
}

/** The owner of an event for a time. */
export interface PastOwnership {
	readonly vid: string;
	/** When both the upload and what names the visitor existed. */
	readonly knownFromMs: number;
	/** When the event went to a visitor with a better claim; Infinity if it stayed. */
	readonly knownUntilMs: number;
	/** Whether the event named the visitor, and did not only follow its subscription. */
	readonly isNamed: boolean;
}

/** A time. */
interface Period {
	readonly fromMs: number;
	readonly untilMs: number;
}

const forever = Number.POSITIVE_INFINITY;

/** A customer id that a visitor has shown, and when first. */
export interface ShownCid {
	readonly cid: string;
	readonly atMs: number;
}

/** A visitor, and the customer that it has shown first, if any. */
export interface Participant {
	readonly vid: string;
	readonly customer: ShownCid | null;
}

/** When a visitor who has shown customers was another's than this one; undefined if never. */
function anothersIn(shown: readonly ShownCid[], cid: string | undefined): Period | undefined {
	if (cid === undefined) return undefined;
	const firstOf = (some: readonly ShownCid[]) => Math.min(forever, ...some.map(({ atMs }) => atMs));
	const fromMs = firstOf(shown);
	const untilMs = firstOf(shown.filter((one) => one.cid === cid));
	return fromMs < untilMs ? { fromMs, untilMs } : undefined;
}

/** Who is known of visitors over time. */
export interface KnownOver {
	/** Who has held a key, one after another. */
	readonly holdersOf: (key: string) => readonly Holder[];
	/** The customers that a visitor has shown. */
	readonly shownBy: (vid: string) => readonly ShownCid[];
	/** The keys that too many share, and always did: they hold for every moment. */
	readonly shared: SharedKeys;
}

/**
 * The owners of a subscription's events over time, in the order of the events. The last owner of each is the owner today.
 */
export function ownersOver<Event extends DecidingEvent & Joinable & { readonly subid: string }>(
	events: readonly Event[],
	known: KnownOver,
): readonly (readonly PastOwnership[])[] {
	const claims = events.map((event) => claimsOver(event, known));
	let deciding: { readonly event: Event; readonly owner: PastOwnership } | undefined;
	for (const [index, event] of events.entries()) {
		if (isMissingKey(event.subid) || known.shared.has(subscriptionKey(event.subid))) break;
		const owner = inTurn(claims[index] ?? []).at(-1);
		if (owner?.knownUntilMs !== forever) continue;
		if (!(deciding && compareDeciding(deciding.event, event) < 0)) deciding = { event, owner };
	}
	return events.map((event, index) => {
		const own = claims[index] ?? [];
		if (!deciding) return inTurn(own);
		const { vid, knownFromMs } = deciding.owner;
		const since = Math.max(event.atMs, knownFromMs);
		const not = anothersIn(known.shownBy(vid), customerOf(event, known));
		return inTurn([...own, claim({ vid, isNamed: false }, { fromMs: since, untilMs: forever }, [not])]);
	});
}

/** The customer that an event names. */
function customerOf(event: Joinable, { shared }: KnownOver): string | undefined {
	return namesCustomer(event.cid, shared) ? event.cid : undefined;
}

/** When a visitor had a claim to an event. */
interface Claim {
	readonly vid: string;
	readonly isNamed: boolean;
	readonly periods: readonly Period[];
}

/** @param not when it did not hold, because another was better or the visitor was another customer's */
function claim(
	whose: Pick<Claim, 'vid' | 'isNamed'>,
	period: Period,
	not: readonly (Period | undefined)[],
): Claim {
	let periods = [period];
	for (const gap of not)
		if (gap)
			periods = periods.flatMap(({ fromMs, untilMs }) => [
				{ fromMs, untilMs: Math.min(untilMs, gap.fromMs) },
				{ fromMs: Math.max(fromMs, gap.untilMs), untilMs },
			]);
	return { ...whose, periods: periods.filter(({ fromMs, untilMs }) => fromMs < untilMs) };
}

/** The claims of those whom an event names: the holders of its `tid`, then the holders of its `cid`. */
function claimsOver(event: DecidingEvent & Joinable, known: KnownOver): Claim[] {
	const { holdersOf, shownBy, shared } = known;
	const { tid } = joiningKeys(event);
	const cid = customerOf(event, known);
	const byTid = tid === undefined || shared.has(tidKey(tid)) ? [] : holdersOf(tidKey(tid));
	const byCid = cid === undefined ? [] : holdersOf(cidKey(cid));
	const heldBy = (holders: readonly Holder[], place: number): Period => ({
		fromMs: Math.max(event.atMs, holders[place]?.fromMs ?? 0),
		untilMs: holders[place + 1]?.fromMs ?? forever,
	});
	/** When it yields to holders of the `cid`. */
	const yielding = (holder: Holder) =>
		byCid.map((other, place) => (yields(holder, other) ? heldBy(byCid, place) : undefined));
	return [
		...byTid.map((holder, place) =>
			claim({ vid: holder.vid, isNamed: true }, heldBy(byTid, place), [
				anothersIn(shownBy(holder.vid), cid),
				...yielding(holder),
			]),
		),
		...byCid.map(({ vid }, place) => claim({ vid, isNamed: true }, heldBy(byCid, place), [])),
	];
}

/** Who had the best claim, one after another. @param claims the best first */
function inTurn(claims: readonly Claim[]): PastOwnership[] {
	const bounds = claims.flatMap(({ periods }) => periods.flatMap(({ fromMs, untilMs }) => [fromMs, untilMs]));
	const moments = [...new Set(bounds)].sort((a, b) => a - b);
	const owners: PastOwnership[] = [];
	for (const [index, atMs] of moments.entries()) {
		const best = claims.find(({ periods }) =>
			periods.some(({ fromMs, untilMs }) => fromMs <= atMs && atMs < untilMs),
		);
		if (!best) continue;
		const knownUntilMs = moments[index + 1] ?? forever;
		const before = owners.at(-1);
		const { vid, isNamed } = best;
		if (before?.vid === vid && before.knownUntilMs === atMs)
			owners[owners.length - 1] = { ...before, knownUntilMs, isNamed: before.isNamed || isNamed };
		else owners.push({ vid, knownFromMs: atMs, knownUntilMs, isNamed });
	}
	return owners;
}
