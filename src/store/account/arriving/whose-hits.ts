import { derivedVisitor } from '../../../domain/derived-vid.ts';
import type { ArrivingHit } from '../../../domain/hit.ts';
import { cidKey, namesCustomer } from '../../../domain/ownership.ts';
import type { SharedKeys } from '../../../domain/shared-key.ts';
import { type Askable, ask, type Query, type Row, raw, type Steps, sql, values } from '../../steps.ts';
import { hasCustomer } from '../owners/customers.ts';
import { sharedAmong, someShared } from '../owners/shared-keys.ts';

/** A visitor who shows a customer. */
export interface ShowsCustomer {
	readonly vid: string;
	readonly cid: string;
}

/** Hits with the visitors that they present replaced by those whose they are. */
export interface WhoseHits {
	readonly hits: readonly ArrivingHit[];
	/** Of hits of derived visitors, by their place: the visitor that their browser was first. */
	readonly firstVids: ReadonlyMap<number, string>;
	/** Visitors, known or not, who show a customer for the first time, which must still be so once they are locked. */
	readonly gaining: readonly ShowsCustomer[];
	/** Rows as those of `knownLinks`, of the visitors that hits with a customer present. */
	readonly known: readonly Row[];
	/** The `cid`s of the hits, as keys, that too many share. */
	readonly shared: SharedKeys;
}

/**
 * One customer, one person: a hit that shows another customer than its visitor has shown is of the visitor that is derived
 * from both. That visitor is the one that the browser was first, where the hit names it and it is known. Hits that show nobody
 * are of whom they present.
 */
export function* whoseHits(hits: readonly ArrivingHit[]): Steps<WhoseHits> {
	const asked = hits.flatMap((hit) => {
		const { cid } = hit.body;
		return cid === null ? [] : presentedBy(hit).map((vid) => ({ vid, cid }));
	});
	const firstVids = new Map<number, string>();
	const cids = hits.flatMap(({ body: { cid } }) => (cid === null ? [] : [cidKey(cid)]));
	if (cids.length === 0) return { hits, firstVids, gaining: [], known: [], shared: new Set() };
	const { rows, some } = yield* ask({ rows: customersOf(asked), some: someShared() });
	const shared = yield* sharedAmong(some, () => cids);
	const customers = new KnownCustomers(rows);
	const gaining: ShowsCustomer[] = [];
	const decided = hits.map((hit, place): ArrivingHit => {
		const { cid } = hit.body;
		if (!namesCustomer(cid, shared)) return hit;
		const base = presentedBy(hit).find((vid) => customers.isVisitor(vid)) ?? hit.derived?.vid;
		if (base === undefined) return hit;
		if (!customers.isAnothers(base, cid)) {
			if (!customers.hasShown(base, cid)) gaining.push({ vid: base, cid });
			customers.add(base, cid);
			return customers.isVisitor(base) ? { ...hit, vid: base } : hit;
		}
		if (hit.visitorSecret === undefined)
			throw new Error('a hit with a customer has no secret to derive from');
		firstVids.set(place, base);
		return { ...hit, vid: null, derived: derivedVisitor(hit.visitorSecret, 'customer', base, cid) };
	});
	const known = rows.filter(({ at }) => at !== null);
	const derived = decided.flatMap((hit, place) => (firstVids.has(place) && hit.derived ? [hit] : []));
	if (derived.length === 0) return { hits: decided, firstVids, gaining, known, shared };
	const links = yield* customersOf(
		derived.map((hit) => ({ vid: hit.derived?.vid ?? '', cid: hit.body.cid ?? '' })),
	);
	return {
		hits: decided,
		firstVids,
		gaining,
		known: [...known, ...links.filter(({ at }) => at !== null)],
		shared,
	};
}

/** The visitors that a hit presents, the one that decides first. */
function presentedBy({ firstVid, vid, derived }: ArrivingHit): string[] {
	return [firstVid, vid, derived?.vid].filter((one) => typeof one === 'string');
}

/** Of known visitors: since when they have shown a customer, and whether they have shown only others. */
export function customersOf(shows: readonly ShowsCustomer[]): Askable<Query> {
	const rows = new Map(shows.map(({ vid, cid }) => [`${vid} ${cid}`, [vid, cidKey(cid)]]));
	return sql`SELECT asked.column1 AS vid, asked.column2 AS key, claim.at AS at, ${isAnother} AS another FROM (${values([...rows.values()])}) AS asked JOIN @visitor AS visitor ON visitor.vid = asked.column1 LEFT JOIN @claim AS claim ON claim.vid = asked.column1 AND claim.key = asked.column2 /* customers of visitors */`;
}

const isAnother = raw(`CASE WHEN claim.at IS NULL AND ${hasCustomer('asked.column1')} THEN 1 ELSE 0 END`);

/** The customers of visitors, and those that they gain with the hits of one transaction. */
class KnownCustomers {
	readonly #visitors = new Set<string>();
	readonly #shown = new Set<string>();
	readonly #another = new Set<string>();
	readonly #gained = new Set<string>();

	constructor(rows: readonly Row[]) {
		for (const { vid, key, at, another } of rows) {
			const pair = `${vid} ${key}`;
			this.#visitors.add(String(vid));
			if (at !== null) this.#shown.add(pair);
			if (Number(another) === 1) this.#another.add(pair);
		}
	}

	isVisitor(vid: string): boolean {
		return this.#visitors.has(vid);
	}

	hasShown(vid: string, cid: string): boolean {
		return this.#shown.has(`${vid} ${cidKey(cid)}`);
	}

	isAnothers(vid: string, cid: string): boolean {
		if (this.hasShown(vid, cid)) return false;
		return this.#gained.has(vid) || this.#another.has(`${vid} ${cidKey(cid)}`);
	}

	add(vid: string, cid: string): void {
		this.#shown.add(`${vid} ${cidKey(cid)}`);
		this.#gained.add(vid);
	}
}
