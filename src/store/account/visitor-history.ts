import type { Kysely } from 'kysely';
import { compareEntries, type HitEntry, type Profile, profileOf } from '../../domain/profile.ts';
import { type JoinedEvent, joinedEvents } from './joined-events.ts';
import { rowsOfNames } from './rows-of-names.ts';
import type { ClientTables, HitTables } from './tables.ts';
import { hitEntry } from './visitor-log.ts';

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

/** The moment of a hit. */
export interface HitMoment {
	readonly vid: string;
	readonly atMs: number;
}

type Database = Kysely<ClientTables>;

/** Hits of visitors per statement: many times what a page of ordinary visitors has. */
const maxHits = 20_000;
/** Only the latest hits of a visitor are used, whoever is read with it. One `vid` may send hits for months. */
const maxHitsPerVisitor = 5000;

/** The extent of the history up to a moment. */
export async function historyExtent(
	database: Database,
	asOfMs: number,
	{ all }: HitTables,
): Promise<HistoryExtent> {
	const { uploads, uploaded } = await database
		.selectFrom('subscription_event')
		.select(({ fn }) => [fn.countAll<number>().as('uploads'), fn.max('received_at').as('uploaded')])
		.where('received_at', '<=', asOfMs)
		.executeTakeFirstOrThrow();
	let [hits, fromMs] = [0, Number.POSITIVE_INFINITY];
	let toMs = uploaded === null ? Number.NEGATIVE_INFINITY : Number(uploaded);
	for (const table of all) {
		const { count, from, to } = await database
			.selectFrom(table)
			.select(({ fn }) => [fn.countAll<number>().as('count'), fn.min('at').as('from'), fn.max('at').as('to')])
			.where('at', '<=', asOfMs)
			.executeTakeFirstOrThrow();
		hits += Number(count);
		fromMs = Math.min(fromMs, from === null ? Number.POSITIVE_INFINITY : Number(from));
		toMs = Math.max(toMs, to === null ? Number.NEGATIVE_INFINITY : Number(to));
	}
	return { hits, uploads: Number(uploads), fromMs, toMs };
}

/** The latest hits up to a moment, latest first. */
export async function hitsBefore(
	database: Database,
	atMs: number,
	limit: number,
	{ all }: HitTables,
): Promise<HitMoment[]> {
	const rows: HitMoment[] = [];
	for (const table of all)
		for (const { vid, at } of await database
			.selectFrom(table)
			.select(['vid', 'at'])
			.where('at', '<=', atMs)
			.orderBy('at', 'desc')
			.limit(limit)
			.execute())
			rows.push({ vid, atMs: Number(at) });
	return rows.sort((a, b) => b.atMs - a.atMs).slice(0, limit);
}

/** The first hits of these visitors up to a moment. Of several in one millisecond, the first by text. */
export async function firstHits(
	database: Database,
	vids: readonly string[],
	asOfMs: number,
	{ ofVisitors }: HitTables,
): Promise<FirstHit[]> {
	if (vids.length === 0) return [];
	const rows = await database
		.selectFrom((from) =>
			from
				.selectFrom(ofVisitors)
				.select(({ fn }) => ['vid', fn.min('at').as('at')])
				.where('vid', 'in', vids)
				.where('at', '<=', asOfMs)
				.groupBy('vid')
				.as('first'),
		)
		.innerJoin(`${ofVisitors} as begun`, (join) =>
			join.onRef('begun.vid', '=', 'first.vid').onRef('begun.at', '=', 'first.at'),
		)
		.select(['begun.vid', 'begun.at', 'begun.body'])
		.execute();
	const first = new Map<string, FirstHit>();
	for (const { vid, at, body } of rows) {
		const known = first.get(vid);
		if (!known || body < known.body) first.set(vid, { vid, atMs: Number(at), body });
	}
	return [...first.values()];
}

/**
 * The histories of these visitors up to a moment, as they were known then. Later hits, uploads and links are ignored,
 * even if an upload belongs to another visitor today. Uses short reads that block nobody.
 */
export async function visitorHistories(
	database: Database,
	vids: readonly string[],
	asOfMs: number,
	{ ofVisitors }: HitTables,
): Promise<VisitorHistory[]> {
	if (vids.length === 0) return [];
	const [hits, events] = await Promise.all([
		hitsOf(database, ofVisitors, vids, asOfMs),
		joinedEvents(database, vids, asOfMs),
	]);
	return vids.flatMap((vid) => {
		const ofVisitor = hits.get(vid);
		if (!ofVisitor) return [];
		const latest = ofVisitor.sort(compareEntries).slice(-maxHitsPerVisitor);
		return [{ vid, hits: latest, events: events.get(vid) ?? [] }];
	});
}

/** The visitor's stored profile as of the moment up to which the history goes. */
export function profileAtEnd({ hits, events }: VisitorHistory): Profile {
	const held = events.filter(({ knownUntilMs }) => knownUntilMs === Number.POSITIVE_INFINITY);
	return profileOf([...hits, ...held.map(({ entry }) => entry)]) as Profile;
}

async function hitsOf(
	database: Database,
	table: HitTables['ofVisitors'],
	vids: readonly string[],
	asOfMs: number,
): Promise<Map<string, HitEntry[]>> {
	const hits = database.selectFrom(table).select(['vid', 'sid', 'at', 'body']).where('at', '<=', asOfMs);
	const rows = await rowsOfNames(hits.where('vid', 'in', vids), maxHits, () =>
		vids.map((vid) => hits.where('vid', '=', vid).orderBy('at', 'desc').limit(maxHitsPerVisitor)),
	);
	return new Map(
		Map.groupBy(rows, ({ vid }) => vid)
			.entries()
			.map(([vid, own]) => [
				vid,
				own.map(({ sid, at, body: text }) =>
					hitEntry({ sid, atMs: Number(at), body: JSON.parse(text), text }),
				),
			]),
	);
}
