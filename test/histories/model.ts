import type { Derived, Kept, Log, LoggedEvent, LoggedHit } from '../core/store/stored-log.ts';
import { About } from './alike.ts';

/**
 * What follows from a log, worked out anew and as plainly as the documentation says it, without anything of `src/`: whose
 * each event is, what is known of each visitor and visit, and how visitors arrived. It looks at the whole log each time.
 */

const dayMs = 86_400_000;

export interface Owner {
	readonly vid: string | null;
	readonly named: number;
}

interface Shown {
	readonly key: string;
	readonly vid: string;
	readonly atMs: number;
	readonly isProven: boolean;
}

/** A visitor who has shown a key: first, and first with proof. */
interface Showing {
	readonly vid: string;
	readonly atMs: number;
	readonly provenAtMs: number;
}

/** By key, each visitor who has shown it. */
function showingsOf(log: Pick<Log, 'hits' | 'kept' | 'shared'>): Map<string, Map<string, Showing>> {
	const earliest = (some: readonly Shown[]) =>
		Math.min(Number.POSITIVE_INFINITY, ...some.map(({ atMs }) => atMs));
	return new Map(
		[...Map.groupBy(shownIn(log), ({ key }) => key)].map(([key, all]) => [
			key,
			new Map(
				[...Map.groupBy(all, ({ vid }) => vid)].map(([vid, own]) => [
					vid,
					{ vid, atMs: earliest(own), provenAtMs: earliest(own.filter(({ isProven }) => isProven)) },
				]),
			),
		]),
	);
}

/**
 * The visitor who holds each `tid` (`t:…`) and `cid` (`c:…`): the first to prove it, else the first to show it; of several at one
 * moment, the smallest `vid`.
 */
export function holdersOf(log: Pick<Log, 'hits' | 'kept' | 'shared'>): Map<string, Showing> {
	return new Map(
		[...showingsOf(log)].map(([key, showings]) => {
			const all = [...showings.values()].sort((a, b) => a.atMs - b.atMs || compareText(a.vid, b.vid));
			const proving = all.filter(({ provenAtMs }) => provenAtMs < Number.POSITIVE_INFINITY);
			const [best] = proving.sort((a, b) => a.provenAtMs - b.provenAtMs);
			return [key, best ?? (all[0] as Showing)];
		}),
	);
}

/** What visitors have shown, but for what too many share. */
function shownIn({ hits, kept, shared }: Pick<Log, 'hits' | 'kept' | 'shared'>): Shown[] {
	const before = kept.links.flatMap(({ key, vid, atMs, provenAtMs }) => [
		{ key, vid, atMs, isProven: provenAtMs === atMs },
		...(provenAtMs < Number.POSITIVE_INFINITY ? [{ key, vid, atMs: provenAtMs, isProven: true }] : []),
	]);
	return [...before, ...hits.flatMap(shownBy)].filter(({ key }) => !shared.has(key));
}

function shownBy({ vid, atMs, body }: LoggedHit): Shown[] {
	const { cid, events, isCidUnproven } = body;
	return [
		...events.flatMap(({ tid, isTidUnproven }) =>
			tid === undefined ? [] : [{ key: `t:${tid}`, vid, atMs, isProven: !isTidUnproven }],
		),
		...(cid === null ? [] : [{ key: `c:${cid}`, vid, atMs, isProven: !isCidUnproven }]),
	];
}

/** The names that stand for none, among those of histories. */
export function isNobody(name: string): boolean {
	return ['undefined', 'guest'].includes(name.trim().toLowerCase());
}

/** The customers that each visitor has shown; none who has shown none. */
export function customersOf(log: Pick<Log, 'hits' | 'kept' | 'shared'>): Map<string, Set<string>> {
	const customers = new Map<string, Set<string>>();
	for (const { key, vid } of shownIn(log))
		if (key.startsWith('c:') && !isNobody(key.slice(2)))
			customers.set(vid, (customers.get(vid) ?? new Set()).add(key.slice(2)));
	return customers;
}

/** Whose each event is, by `tid`. */
export function ownersOf(log: Log): Map<string, Owner> {
	const { events, shared } = log;
	const holders = holdersOf(log);
	const isProven = ({ provenAtMs }: Showing) => provenAtMs < Number.POSITIVE_INFINITY;
	const customers = customersOf(log);
	/** Nobody has what names another customer than those that they have shown. */
	const mayHave = (vid: string | null, { cid }: LoggedEvent) => {
		const own = vid === null ? undefined : customers.get(vid);
		return cid === null || isNobody(cid) || shared.has(`c:${cid}`) || own === undefined || own.has(cid);
	};
	const named = new Map<string, Owner>();
	for (const event of events) {
		const { tid, cid } = event;
		const byTid = isNobody(tid) ? undefined : holders.get(`t:${tid}`);
		const byCid = cid === null || isNobody(cid) ? undefined : holders.get(`c:${cid}`);
		// A claim yields to who has proved to be the customer.
		const yields = byTid && byCid && byTid.vid !== byCid.vid && isProven(byCid) && !isProven(byTid);
		if (byTid && !yields && mayHave(byTid.vid, event)) named.set(tid, { vid: byTid.vid, named: 2 });
		else if (byCid) named.set(tid, { vid: byCid.vid, named: 1 });
	}
	const owners = new Map<string, Owner>();
	for (const [subid, own] of Map.groupBy(events, (event) => event.subid)) {
		const byTime = own.toSorted(compareEvents);
		const known = shared.has(`s:${subid}`) ? [] : byTime.filter(({ tid }) => named.has(tid));
		// The acquisition, else whoever comes next; refunds come last.
		const decides = known.find(({ rvn }) => rvn >= 0) ?? known[0];
		const vid = decides ? (named.get(decides.tid) as Owner).vid : null;
		for (const event of own)
			owners.set(event.tid, named.get(event.tid) ?? { vid: mayHave(vid, event) ? vid : null, named: 0 });
	}
	return owners;
}

/**
 * The joined events, by `tid`, that nothing proves: neither their visitor has proved a key of theirs nor, where they follow their
 * subscription, one of what names the visitor.
 */
export function claimedIn(log: Log, owners: ReadonlyMap<string, Owner>): Set<string> {
	const showings = showingsOf(log);
	const isProven = ({ tid, cid }: LoggedEvent, vid: string) =>
		keysThatJoin({ tid, cid }).some(
			(key) =>
				(showings.get(key)?.get(vid)?.provenAtMs ?? Number.POSITIVE_INFINITY) < Number.POSITIVE_INFINITY,
		);
	const claimed = log.events.filter((event) => {
		const { vid } = owners.get(event.tid) as Owner;
		return vid !== null && !namingOf(event, log, owners).some((other) => isProven(other, vid));
	});
	return new Set(claimed.map(({ tid }) => tid));
}

/** What stands for a missing key joins nobody. */
function keysThatJoin({ tid, cid }: Pick<LoggedEvent, 'tid' | 'cid'>): string[] {
	const own = [`t:${tid}`, ...(cid === null ? [] : [`c:${cid}`])];
	return own.filter((key) => !isNobody(key.slice(2)));
}

/** The events by whose keys an event is its visitor's. */
function namingOf(event: LoggedEvent, log: Log, owners: ReadonlyMap<string, Owner>): LoggedEvent[] {
	const { vid, named } = owners.get(event.tid) as Owner;
	if (named > 0) return [event];
	return log.events.filter((other) => {
		const owner = owners.get(other.tid) as Owner;
		return other.subid === event.subid && owner.vid === vid && owner.named > 0;
	});
}

/**
 * The events in profiles, by `vid`: not what a visitor has claimed after its upload and not proven. What names its visitor is seen by a
 * link of its own; what follows its subscription by a link of any event of it that names the visitor.
 */
function seenEvents(log: Log, owners: ReadonlyMap<string, Owner>): Map<string | null, LoggedEvent[]> {
	const showings = showingsOf(log);
	const isSeen = ({ tid, cid }: LoggedEvent, vid: string, arrivedAtMs: number) =>
		keysThatJoin({ tid, cid }).some((key) => {
			const showing = showings.get(key)?.get(vid);
			if (!showing) return false;
			return showing.provenAtMs < Number.POSITIVE_INFINITY || showing.atMs <= arrivedAtMs;
		});
	const seen = log.events.filter((event) => {
		const { vid } = owners.get(event.tid) as Owner;
		return vid === null || namingOf(event, log, owners).some((other) => isSeen(other, vid, event.atMs));
	});
	return Map.groupBy(seen, ({ tid }) => (owners.get(tid) as Owner).vid);
}

/** What retention keeps that keeps touches: of those with subscription events, how they arrived, and what joins the events. */
export function wantedOf(
	log: Log,
	beforeMs: number,
): Omit<Kept, 'began'> & { readonly buyers: ReadonlySet<string | null> } {
	const owners = ownersOf(log);
	const buyers = new Set(owners.values().map(({ vid }) => vid));
	const joining = log.events.flatMap(({ tid, cid }) => {
		const owner = owners.get(tid);
		return [`t:${tid}`, `c:${cid}`].map((key) => `${owner?.vid} ${key}`);
	});
	const isJoining = new Set(joining);
	return {
		links: shownIn(log)
			.filter(({ vid, key, atMs }) => atMs < beforeMs && isJoining.has(`${vid} ${key}`))
			.map(({ isProven, ...shown }) => ({
				...shown,
				provenAtMs: isProven ? shown.atMs : Number.POSITIVE_INFINITY,
			})),
		touches: touchesOf(log).filter(({ vid, atMs }) => atMs < beforeMs && buyers.has(vid)),
		buyers,
	};
}

/** Everything that is derived from a log. */
export function derivedFrom(log: Log): Derived {
	const owners = ownersOf(log);
	const hitsOf = Map.groupBy(log.hits, ({ vid }) => vid);
	const eventsOf = seenEvents(log, owners);
	const links = [...showingsOf(log)].flatMap(([key, showings]) =>
		[...showings.values()].map(({ vid, atMs, provenAtMs }) => [`${vid} ${key}`, [atMs, provenAtMs]] as const),
	);
	return {
		visitors: new Map([...hitsOf].map(([vid, hits]) => [vid, profileOf(hits, eventsOf.get(vid) ?? [])])),
		visits: new Map(
			[...Map.groupBy(log.hits, ({ sid }) => sid)].map(([sid, hits]) => [
				sid,
				{ vid: hits[0]?.vid, ...profileOf(hits, []) },
			]),
		),
		owners,
		links: new Map(links),
		touches: new Map(touchesOf(log).map(({ vid, atMs, origin }) => [`${vid} ${atMs}`, origin])),
	};
}

const compareText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

/** In order of time, whatever the order of arrival. */
function inOrder(hits: readonly LoggedHit[]): LoggedHit[] {
	return hits.toSorted((a, b) => a.atMs - b.atMs || compareText(a.text, b.text) || compareText(a.sid, b.sid));
}

/** By time; of one moment, who pays more comes first. The order of arrival decides nothing. */
function compareEvents(a: LoggedEvent, b: LoggedEvent): number {
	return a.atMs - b.atMs || b.rvn - a.rvn || compareText(a.evt, b.evt) || compareText(a.tid, b.tid);
}

function profileOf(someHits: readonly LoggedHit[], someEvents: readonly LoggedEvent[]): object {
	const hits = inOrder(someHits);
	const events = someEvents.toSorted(compareEvents);
	const [first, last] = [hits[0] as LoggedHit, hits.at(-1) as LoggedHit];
	const times = [...hits, ...events].map(({ atMs }) => atMs);
	const lastAtMs = Math.max(...times);
	// A visitor who goes back to an earlier visit begins it again.
	const begins = hits.filter(({ sid }, place) => hits[place - 1]?.sid !== sid);
	const current = hits.slice(hits.indexOf(begins.at(-1) as LoggedHit));
	const fired = hits.flatMap(({ atMs, body }) => body.events.map(({ name }) => ({ name, atMs })));
	const pages = hits.flatMap(({ atMs, body: { page } }) => (page === null ? [] : [{ name: page, atMs }]));
	const recent = (all: readonly { readonly atMs: number }[]) =>
		[1, 7, 30].map((days) => new About(decayed(all, days, lastAtMs), 0.01));
	return {
		firstAtMs: Math.min(...times),
		lastAtMs,
		hits: hits.length,
		pages: pages.length,
		visits: begins.length,
		activeDays: new Set(hits.map(({ atMs }) => Math.floor(atMs / dayMs))).size,
		dwellMs: hits.reduce((sum, { sid, atMs }, place) => {
			const before = hits[place - 1];
			return before?.sid === sid ? sum + atMs - before.atMs : sum;
		}, 0),
		visit: {
			sid: last.sid,
			startedAtMs: current[0]?.atMs,
			lastHitAtMs: last.atMs,
			hits: current.length,
			landingPage: current[0]?.body.page,
		},
		firstChannel: first.body.channel,
		channels: counted(begins.map(({ atMs, body }) => ({ name: body.channel, atMs }))).map(
			({ name, count }) => [name, count],
		),
		lastChannel: begins.at(-1)?.body.channel,
		landingPage: first.body.page,
		device: last.body.device,
		pageTimes: counted(pages)
			.map(({ name, atMs }) => [name, atMs])
			.slice(-50),
		events: counted(fired).map(({ name, count, atMs }) => [name, count, atMs]),
		subscriptions: events.length === 0 ? null : subscriptionsOf(events),
		recentHits: recent(hits),
		recentVisits: recent(begins),
		recentEvents: recent(fired),
	};
}

function subscriptionsOf(events: readonly LoggedEvent[]): object {
	const last = events.at(-1) as LoggedEvent;
	const paid = events.filter(({ rvn }) => rvn >= 0);
	const subids = [...new Set(paid.map(({ subid }) => subid))];
	const acquired = subids.map((subid) => paid.find((event) => event.subid === subid));
	const byName = (some: readonly LoggedEvent[]) =>
		counted(some.map(({ evt, atMs }) => ({ name: evt, atMs }))).map(({ name, count, atMs }) => [
			name,
			count,
			atMs,
		]);
	const evtOf = (name: string) =>
		(paid.find(({ subid }) => subid === name) ?? events.find(({ subid }) => subid === name))?.evt;
	const first = (event: LoggedEvent) => acquired.includes(event);
	/** The first payment above nothing, after what was free. */
	const converts = (event: LoggedEvent) =>
		event.rvn > 0 &&
		!first(event) &&
		paid.find(({ subid, rvn }) => subid === event.subid && rvn > 0) === event;
	const kinds = {
		trial: paid.filter((event) => first(event) && event.rvn === 0),
		acquisition: paid.filter((event) => first(event) && event.rvn > 0),
		conversion: paid.filter(converts),
		free: paid.filter((event) => !first(event) && event.rvn === 0),
		renewal: paid.filter((event) => !first(event) && event.rvn > 0 && !converts(event)),
		refund: events.filter(({ rvn }) => rvn < 0),
	};
	const trials = subids
		.map((subid, place) => ({ own: paid.filter((event) => event.subid === subid), place }))
		.filter(({ own }) => own.every(({ rvn }) => rvn === 0))
		.map(({ place }) => place);
	return {
		count: events.length,
		renewals: paid.length - subids.length,
		revenuePence: events.reduce((sum, { rvn }) => sum + rvn, 0),
		lastAtMs: last.atMs,
		lastEvt: last.evt,
		evts: byName(events),
		kinds: Object.fromEntries(
			Object.entries(kinds)
				.filter(([, some]) => some.length > 0)
				.map(([kind, some]) => [kind, byName(some)]),
		),
		subids,
		...(trials.length > 0 && { trials }),
		latest: counted(events.map(({ subid, atMs }) => ({ name: subid, atMs }))).map(({ name }) => [
			name,
			evtOf(name),
			events
				.filter(({ subid }) => subid === name)
				.map(({ atMs, rvn, evt }) => [atMs, rvn, ...(rvn === 0 && evt !== evtOf(name) ? [evt] : [])])
				.slice(-8),
		]),
		recent: [1, 7, 30].map((days) => new About(decayed(events, days, last.atMs), 0.01)),
		longTerm: [90, 365].map((days) => new About(decayed(events, days, last.atMs), 0.01)),
	};
}

/** Names with their counts and last times, in the order of these. */
function counted(all: readonly { readonly name: string; readonly atMs: number }[]) {
	return [...new Set(all.map(({ name }) => name).reverse())]
		.map((name) => {
			const own = all.filter((one) => one.name === name);
			return { name, count: own.length, atMs: own.at(-1)?.atMs as number };
		})
		.reverse();
}

function decayed(all: readonly { readonly atMs: number }[], halfLifeDays: number, atMs: number): number {
	return all.reduce((sum, one) => sum + 0.5 ** ((atMs - one.atMs) / dayMs / halfLifeDays), 0);
}

/** How a visitor arrived: channel, source, medium, campaign, landing page. */
export type Origin = readonly [string, string | null, string | null, string | null, string | null];

export interface Touch {
	readonly vid: string;
	readonly atMs: number;
	readonly origin: Origin;
}

/** The touches of all visitors. */
export function touchesOf({ hits, kept }: Pick<Log, 'hits' | 'kept'>): Touch[] {
	const [own, left] = [Map.groupBy(hits, ({ vid }) => vid), Map.groupBy(kept.touches, ({ vid }) => vid)];
	return [...new Set([...own.keys(), ...left.keys()])].flatMap((vid) =>
		touchesOfOne(own.get(vid) ?? [], left.get(vid) ?? [], kept.began),
	);
}

/** Of a visitor: the first hits of visits, and later ones from a campaign or another site. */
function touchesOfOne(
	hits: readonly LoggedHit[],
	kept: readonly Touch[],
	began: ReadonlyMap<string, number>,
): Touch[] {
	const seen = new Set<string>();
	const touches = new Map(kept.map((touch) => [touch.atMs, touch]));
	for (const { vid, sid, atMs, body } of inOrder(hits)) {
		// What is left of a visit whose beginning was deleted has not arrived anew.
		const isFirst = !seen.has(sid) && atMs <= (began.get(sid) ?? atMs);
		seen.add(sid);
		const { url, referrer, cid, events } = body;
		// It tells nothing, so nobody has arrived.
		if (url === null && referrer === null && cid === null && events.length === 0) continue;
		if (body.channel === 'internal' || ((body.channel === 'direct' || body.isByApp) && !isFirst)) continue;
		const campaign = body.url ? new URL(body.url).searchParams : new URLSearchParams();
		const site = body.referrer ? new URL(body.referrer).hostname.replace(/^www\./, '') : null;
		const origin: Origin = [
			body.channel,
			campaign.get('utm_source') ?? body.source ?? site,
			campaign.get('utm_medium'),
			campaign.get('utm_campaign'),
			body.page,
		];
		const other = touches.get(atMs);
		// Of one moment, the first by its text.
		if (!other || JSON.stringify(origin) < JSON.stringify(other.origin))
			touches.set(atMs, { vid, atMs, origin });
	}
	return [...touches.values()];
}
