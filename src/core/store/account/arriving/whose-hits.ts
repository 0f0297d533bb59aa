import { derivedVisitor } from '../../../domain/derived-vid.ts';
import { cidKey, namesCustomer } from '../../../domain/ownership.ts';
import type { SharedKeys } from '../../../domain/shared-key.ts';
import type { ArrivingHit } from '../../../domain/stored-hit.ts';
import { type Askable, ask, type Query, type Row, raw, type Steps, sql, values } from '../../steps.ts';
import { hasCustomer } from '../owners/customers.ts';
import { sharedAmong, someShared } from '../owners/shared-keys.ts';
import { derivedOf, findErased, issuedVid, successorsAmong } from '../profiles/derived-visitors.ts';

/** A visitor who shows a customer. */
export interface ShowsCustomer {
	readonly vid: string;
	/** Null where it shows nobody. */
	readonly cid: string | null;
}

/** Hits with the visitors that they present replaced by those whose they are. */
export interface WhoseHits {
	readonly hits: readonly ArrivingHit[];
	/** Of hits of derived visitors, by their place: the visitor that their browser was first. */
	readonly firstVids: ReadonlyMap<number, string>;
	/** By place, the visitor that a hit must turn out to be of, where it shows that visitor's only customer. */
	readonly decided: readonly (string | undefined)[];
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
	const cids = hits.flatMap(({ body: { cid } }) => (cid === null ? [] : [cidKey(cid)]));
	if (cids.length === 0)
		return { hits, firstVids: new Map(), decided: [], gaining: [], known: [], shared: new Set() };
	// Hits of seeds may be the first of visitors whom the next hits present.
	const deciding = hits.filter(({ body, derived }) => body.cid !== null || derived);
	const seeds = derivedOf(deciding);
	const found = yield* ask({
		rows: customersOf(showing(deciding)),
		some: someShared(),
		erased: findErased(seeds),
	});
	const successors = successorsAmong(found.erased);
	const ofSuccessors = successors.size === 0 ? [] : yield* customersOf(showing(deciding, successors));
	const shared = yield* sharedAmong(found.some, () => cids);
	const rows = [...found.rows, ...ofSuccessors];
	const customers = new KnownCustomers(rows);
	const whose = hits.map((hit) => customers.decide(hit, shared, successors));
	const known = rows.filter(({ at }) => at !== null);
	const derived = whose.flatMap(({ hit, firstVid }) =>
		firstVid !== undefined && hit.derived ? [{ vid: hit.derived.vid, cid: hit.body.cid }] : [],
	);
	const links = derived.length === 0 ? [] : yield* customersOf(derived);
	return {
		hits: whose.map(({ hit }) => hit),
		firstVids: new Map(
			whose.flatMap(({ firstVid }, place) => (firstVid === undefined ? [] : [[place, firstVid]])),
		),
		decided: whose.map(({ vid }) => vid),
		gaining: whose.flatMap(({ gains }) => gains ?? []),
		known: [...known, ...links.filter(({ at }) => at !== null)],
		shared,
	};
}

const noSuccessors: ReadonlyMap<string, string> = new Map();

/** Who may be shown by hits. @param successors of erased visitors whom their seeds lead to */
function showing(hits: readonly ArrivingHit[], successors = noSuccessors): ShowsCustomer[] {
	return hits.flatMap((hit) => presentedBy(hit, successors).map((vid) => ({ vid, cid: hit.body.cid })));
}

/** The visitors that a hit presents, the one that decides first. Who shows nobody is never the visitor that the browser was first. */
function presentedBy(
	{ firstVid, vid, derived, body }: ArrivingHit,
	successors: ReadonlyMap<string, string>,
): string[] {
	const seeded = derived && issuedVid(derived, successors);
	return [body.cid === null ? null : firstVid, vid, seeded].filter((one) => typeof one === 'string');
}

/** Of known visitors: since when they have shown a customer, and whether they have shown only others. */
export function customersOf(shows: readonly ShowsCustomer[]): Askable<Query> {
	const rows = new Map(
		shows.map(({ vid, cid }) => [`${vid} ${cid}`, [vid, cid === null ? '' : cidKey(cid)]]),
	);
	return sql`SELECT asked.column1 AS vid, asked.column2 AS key, claim.at AS at, claim.unproven_until AS unproven_until, ${isAnother} AS another FROM (${values([...rows.values()])}) AS asked JOIN @visitor AS visitor ON visitor.vid = asked.column1 LEFT JOIN @claim AS claim ON claim.vid = asked.column1 AND claim.key = asked.column2 /* customers of visitors */`;
}

const isAnother = raw(`CASE WHEN claim.at IS NULL AND ${hasCustomer('asked.column1')} THEN 1 ELSE 0 END`);

interface WhoseHit {
	readonly hit: ArrivingHit;
	/** The visitor that it must turn out to be of, where it shows the visitor's only customer. */
	readonly vid?: string;
	/** Who the browser was first, where it is a second customer's. */
	readonly firstVid?: string;
	/** The customer whom the visitor shows for the first time. */
	readonly gains?: ShowsCustomer;
}

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

	/** Whose the next hit is. */
	decide(hit: ArrivingHit, shared: SharedKeys, successors: ReadonlyMap<string, string>): WhoseHit {
		const { cid } = hit.body;
		const base =
			presentedBy(hit, successors).find((vid) => this.#visitors.has(vid)) ??
			(hit.derived && issuedVid(hit.derived, successors));
		const isKnown = base !== undefined && this.#visitors.has(base);
		if (base !== undefined) this.#visitors.add(base);
		if (!namesCustomer(cid, shared)) return { hit };
		if (base === undefined) return { hit, vid: hit.freshVid };
		if (!this.isAnothers(base, cid)) {
			const gains = this.hasShown(base, cid) ? {} : { gains: { vid: base, cid } };
			this.add(base, cid);
			return { hit: isKnown ? { ...hit, vid: base } : hit, vid: base, ...gains };
		}
		if (hit.visitorSecret === undefined)
			throw new Error('a hit with a customer has no secret to derive from');
		const derived = derivedVisitor(hit.visitorSecret, 'customer', base, cid);
		this.#visitors.add(derived.vid);
		this.add(derived.vid, cid);
		return { hit: { ...hit, vid: null, derived }, firstVid: base };
	}
}
