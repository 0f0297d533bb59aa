import { compareTexts } from './compare-texts.ts';

/**
 * Whose a subscription event is: of the visitor who showed its `tid` (a sale begun on a page), else of the visitor who
 * showed its `cid`, else of whoever owns its subscription, so that renewals follow the first sale. Who showed a key first
 * holds it. The order in which hits and uploads arrive does not matter.
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

/** The same of a `cid`. */
export function cidKey(cid: string): string {
	return `c:${cid}`;
}

/** The keys by which events are joined to visitors. */
export function eventKeys(events: readonly Joinable[]): string[] {
	return events.flatMap(({ tid, cid }) => (cid === null ? [tidKey(tid)] : [tidKey(tid), cidKey(cid)]));
}

/** The visitor who showed a key first, and when. */
export interface Holder {
	readonly vid: string;
	readonly atMs: number;
}

/** Who of several visitors holds a key: the first to show it; of several at the same moment, the smallest `vid`. */
export function compareHolders(a: Holder, b: Holder): number {
	return a.atMs - b.atMs || compareTexts(a.vid, b.vid);
}

/** The visitor whom an event itself names. @param holderOf returns the `vid` that holds a key */
export function namedOwner(
	{ tid, cid }: Joinable,
	holderOf: (key: string) => string | undefined,
): Owner | undefined {
	const byTid = holderOf(tidKey(tid));
	if (byTid !== undefined) return { vid: byTid, named: 2 };
	const byCid = cid === null ? undefined : holderOf(cidKey(cid));
	return byCid === undefined ? undefined : { vid: byCid, named: 1 };
}

/** The owner of an event. @param subscriber the owner of its subscription */
export function ownerOf(named: Owner | undefined, subscriber: string | undefined): Owner | undefined {
	return named ?? (subscriber === undefined ? undefined : { vid: subscriber, named: 0 });
}

/** What decides which event of a subscription gives it its owner. */
export interface Deciding {
	/** In order of arrival. */
	readonly id: number;
	readonly atMs: number;
	readonly revenuePence: number;
}

/**
 * A subscription is all events of one `subid`. It belongs to the visitor whom its acquisition names, else to the one whom
 * its earliest event with a name names; refunds come last. Events of one moment count in order of arrival.
 */
function compareDeciding(a: Deciding, b: Deciding): number {
	return Number(a.revenuePence < 0) - Number(b.revenuePence < 0) || a.atMs - b.atMs || a.id - b.id;
}

/** The same order in SQL; both engines store the fields in these columns. */
export const decidingOrder = '(rvn < 0), received_at, id';

/** The owners of all subscriptions among events. @param namedOf returns the visitor whom an event names */
export function subscribersAmong<Event extends Deciding & { readonly subid: string }>(
	events: Iterable<Event>,
	namedOf: (event: Event) => Owner | undefined,
): Map<string, string> {
	const first = new Map<string, { readonly event: Event; readonly vid: string }>();
	for (const event of events) {
		const named = namedOf(event);
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
}

/**
 * The owners of a subscription's events over time, in the order of the events. The last owner of each is the owner today.
 * @param holderOf returns who holds a key today
 */
export function ownersOver<Event extends Deciding & Joinable>(
	events: readonly Event[],
	holderOf: (key: string) => Holder | undefined,
): readonly (readonly PastOwnership[])[] {
	const named = events.map((event) => namedOver(event, holderOf));
	let deciding: { readonly event: Event; readonly owner: PastOwnership } | undefined;
	for (const [index, event] of events.entries()) {
		const owner = named[index]?.at(-1);
		if (owner && !(deciding && compareDeciding(deciding.event, event) < 0)) deciding = { event, owner };
	}
	return events.map((event, index) => withSubscriber(named[index] ?? [], deciding?.owner, event.atMs));
}

const forever = Number.POSITIVE_INFINITY;

/** The visitors whom an event names: the holder of its `tid`, and until that one appeared, the holder of its `cid`. */
function namedOver(
	{ tid, cid, atMs }: Deciding & Joinable,
	holderOf: (key: string) => Holder | undefined,
): PastOwnership[] {
	const since = (holder: Holder | undefined): PastOwnership | undefined =>
		holder && { vid: holder.vid, knownFromMs: Math.max(atMs, holder.atMs), knownUntilMs: forever };
	const byTid = since(holderOf(tidKey(tid)));
	const byCid = cid === null ? undefined : since(holderOf(cidKey(cid)));
	if (!byTid || !byCid) return [byTid ?? byCid].filter((owner) => owner !== undefined);
	return before(byCid, byTid);
}

/** Until an event named somebody, it belonged to the owner of its subscription. */
function withSubscriber(
	named: readonly PastOwnership[],
	subscriber: PastOwnership | undefined,
	atMs: number,
): readonly PastOwnership[] {
	if (!subscriber) return named;
	const knownFromMs = Math.max(atMs, subscriber.knownFromMs);
	const following = { vid: subscriber.vid, knownFromMs, knownUntilMs: forever };
	const [first, ...later] = named;
	return first ? [...before(following, first), ...later] : [following];
}

/** An owner, and the better one who came after, if it was not there first. */
function before(owner: PastOwnership, better: PastOwnership): PastOwnership[] {
	if (owner.knownFromMs >= better.knownFromMs) return [better];
	if (owner.vid === better.vid) return [{ ...better, knownFromMs: owner.knownFromMs }];
	return [{ ...owner, knownUntilMs: better.knownFromMs }, better];
}
