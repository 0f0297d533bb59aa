import type { CancellationEvt } from '../../core/domain/event-kind.ts';
import type { Gateways } from '../../core/domain/mail-gateways.ts';
import { compareEntries, type HitEntry, type Profile, profileOf } from '../../core/domain/profile.ts';
import { hitEntry } from '../../core/domain/stored-hit.ts';
import { Cadences, type RenewalDays } from '../../core/domain/subscription-cadence.ts';
import { rowsOfNames } from '../../core/store/account/reading/rows.ts';
import { vidsAfter } from '../../core/store/account/reading/visitors.ts';
import { ask, type Reading, select } from '../../core/store/steps.ts';
import type { Store } from '../../core/store/store.ts';
import { gatewaysOf } from './gateways.ts';
import { type JoinedEvent, joinedEvents } from './joined-events.ts';
import { learnedCadences } from './payments.ts';

/** A visitor's entries up to a moment. */
export interface VisitorHistory {
	readonly vid: string;
	/** In the order in which profiles apply them. */
	readonly hits: readonly HitEntry[];
	readonly events: readonly JoinedEvent[];
}

export interface HistoryExtent {
	readonly hits: number;
	readonly uploads: number;
	/** Time of the first hit; Infinity if there is none. */
	readonly fromMs: number;
	/** Time of the last hit or upload; -Infinity if there is none. */
	readonly toMs: number;
}

export interface FirstHit {
	readonly vid: string;
	readonly atMs: number;
	/** JSON. */
	readonly body: string;
}

export interface HitMoment {
	readonly vid: string;
	readonly atMs: number;
}

/** Reads an account's history in short transactions, which block nobody. Visitors that are mail gateways have none. */
export interface AccountHistory {
	historyExtent(asOfMs: number): Promise<HistoryExtent>;
	hitsBefore(atMs: number, limit: number): Promise<HitMoment[]>;
	vidsAfter(vid: string, limit: number): Promise<string[]>;
	firstHits(vids: readonly string[], asOfMs: number): Promise<FirstHit[]>;
	visitorHistories(vids: readonly string[], asOfMs: number): Promise<VisitorHistory[]>;
	/** How often subscriptions are paid, as was known at a moment. */
	cadences(asOfMs: number): Promise<Cadences>;
	/** The visitors that are mail gateways, as was known at a moment. */
	gateways(asOfMs: number): Promise<Gateways>;
	readonly cancellationEvt: CancellationEvt;
}

/** What of an account its history is read by. */
export interface HistoryAccount {
	readonly id: number;
	/** The cadences that the operator has set, by `evt`. */
	readonly renewalDays: RenewalDays;
	/** How late a renewal may be, by `evt`, where the operator has set it. */
	readonly graceDays: Readonly<Record<string, number>>;
	readonly cancellationEvt: CancellationEvt;
	readonly paymentProviders: readonly string[];
}

/** @param include whether mail gateways are read like everybody else */
export function historyReader(
	store: Pick<Store, 'read'>,
	account: HistoryAccount,
	include: 'gateways' | null = null,
): AccountHistory {
	const read = <T>(reading: Reading<T>) => store.read(account.id, reading);
	const cadences = lastOf(async (asOfMs) => {
		const { renewalDays, graceDays, cancellationEvt } = account;
		const table = await read(learnedCadences(asOfMs, cancellationEvt));
		return new Cadences(table, renewalDays, { setDays: graceDays }, cancellationEvt);
	});
	const gateways = lastOf((asOfMs) => gatewaysOf(store, account, { asOfMs, include }));
	/** Reads what there is of people. */
	const ofPeople =
		<Found>(of: (vids: readonly string[], asOfMs: number) => Reading<Found[]>) =>
		async (vids: readonly string[], asOfMs: number): Promise<Found[]> => {
			const left = await gateways(asOfMs);
			return read(of(left.size === 0 ? vids : vids.filter((vid) => !left.has(vid)), asOfMs));
		};
	return {
		historyExtent: (...options) => read(historyExtent(...options)),
		hitsBefore: (...options) => read(hitsBefore(...options)),
		vidsAfter: (...options) => read(vidsAfter(...options)),
		firstHits: ofPeople(firstHits),
		visitorHistories: ofPeople(visitorHistories),
		cadences,
		gateways,
		cancellationEvt: account.cancellationEvt,
	};
}

/** What is read again and again as of one moment is read once. Week by week, levels are compared with the same. */
function lastOf<Value>(read: (asOfMs: number) => Promise<Value>): (asOfMs: number) => Promise<Value> {
	let known: { readonly asOfMs: number; readonly value: Promise<Value> } | undefined;
	return (asOfMs) => {
		if (known?.asOfMs !== asOfMs) known = { asOfMs, value: read(asOfMs) };
		return known.value;
	};
}

const visitorsPerRead = 250;

/** The histories of many visitors, a page of them at a time. Of those who had none by then, there is none. */
export async function* historiesOf(
	reader: Pick<AccountHistory, 'visitorHistories'>,
	vids: readonly string[],
	asOfMs: number,
): AsyncGenerator<VisitorHistory> {
	for (let from = 0; from < vids.length; from += visitorsPerRead)
		yield* await reader.visitorHistories(vids.slice(from, from + visitorsPerRead), asOfMs);
}

/** Hits of visitors per statement: many times what a page of ordinary visitors has. */
const maxHits = 20_000;
/** Only the latest hits of a visitor are used, whoever is read with it. One `vid` may send hits for months. */
const maxHitsPerVisitor = 5000;

/** The extent of the history up to a moment. */
export function* historyExtent(asOfMs: number): Reading<HistoryExtent> {
	const { hits, uploads } = yield* ask({
		hits: select`count(*) AS number, min(at) AS first, max(at) AS last FROM @every_hit WHERE at <= ${asOfMs} /* extent */`,
		uploads: select`count(*) AS number, max(received_at) AS last FROM @subscription_event WHERE received_at <= ${asOfMs} /* extent */`,
	});
	const numberOr = (value: unknown, none: number) => (value === null ? none : Number(value));
	const [hit, upload] = [hits[0], uploads[0]];
	return {
		hits: Number(hit?.number),
		uploads: Number(upload?.number),
		fromMs: numberOr(hit?.first, Number.POSITIVE_INFINITY),
		toMs: Math.max(...[hit, upload].map((row) => numberOr(row?.last, Number.NEGATIVE_INFINITY))),
	};
}

/** The latest hits up to a moment, latest first. */
export function* hitsBefore(atMs: number, limit: number): Reading<HitMoment[]> {
	const rows =
		yield* select`vid, at FROM @every_hit WHERE at <= ${atMs} ORDER BY at DESC LIMIT ${limit} /* hits before */`;
	return rows.map(({ vid, at }) => ({ vid: String(vid), atMs: Number(at) }));
}

/**
 * The first hits of these visitors up to a moment, in no particular order. Of several in one millisecond, the first by
 * text. Visitors without one are left out.
 */
export function* firstHits(vids: readonly string[], asOfMs: number): Reading<FirstHit[]> {
	const rows =
		yield* select`begun.vid, begun.at, begun.body FROM (SELECT vid, min(at) AS at FROM @logged_hit WHERE vid IN ${vids} AND at <= ${asOfMs} GROUP BY vid) AS first JOIN @logged_hit AS begun ON begun.vid = first.vid AND begun.at = first.at /* first hits */`;
	const first = new Map<string, FirstHit>();
	for (const row of rows) {
		const [vid, body] = [String(row.vid), String(row.body)];
		const known = first.get(vid);
		if (!known || body < known.body) first.set(vid, { vid, atMs: Number(row.at), body });
	}
	return [...first.values()];
}

/**
 * The histories of these visitors up to a moment, as they were known then, in the order of `vids`. Later hits, uploads and
 * links are ignored, even if an upload belongs to another visitor today. Visitors without a hit are left out.
 */
export function* visitorHistories(vids: readonly string[], asOfMs: number): Reading<VisitorHistory[]> {
	if (vids.length === 0) return [];
	const rows = yield* rowsOfNames(vids, {
		sql: 'SELECT vid, sid, at, body FROM @logged_hit WHERE at <= ? AND vid IN ?list',
		values: [asOfMs],
		order: 'at DESC',
		maxRows: maxHits,
		maxRowsPerName: maxHitsPerVisitor,
	});
	const hits = Map.groupBy(rows, ({ vid }) => String(vid));
	const events = yield* joinedEvents(vids, asOfMs);
	return vids.flatMap((vid) => {
		const own = hits.get(vid)?.map(({ sid, at, body }) => {
			const text = String(body);
			return hitEntry({ sid: String(sid), atMs: Number(at), body: JSON.parse(text), text });
		});
		if (!own) return [];
		const latest = own.sort(compareEntries).slice(-maxHitsPerVisitor);
		return [{ vid, hits: latest, events: events.get(vid) ?? [] }];
	});
}

/** The visitor's stored profile as of the moment up to which the history goes. */
export function profileAtEnd({ hits, events }: VisitorHistory): Profile {
	const held = events.filter(
		({ knownFromMs, knownUntilMs }) =>
			knownFromMs < Number.POSITIVE_INFINITY && knownUntilMs === Number.POSITIVE_INFINITY,
	);
	return profileOf([...hits, ...held.map(({ entry }) => entry)]) as Profile;
}

/** The stored profiles of visitors as of a moment, by `vid`. */
export function* profilesAsOf(vids: readonly string[], asOfMs: number): Reading<Map<string, Profile>> {
	const histories = yield* visitorHistories(vids, asOfMs);
	return new Map(histories.map((history) => [history.vid, profileAtEnd(history)]));
}
