import { hash } from 'node:crypto';
import { cidKey, namesCustomer } from '../../../core/domain/ownership.ts';
import { emptyProfile } from '../../../core/domain/profile.ts';
import type { HitRecord } from '../../../core/domain/stored-hit.ts';
import { forgetDays } from '../../../core/store/account/arriving/forget-days.ts';
import { showsCustomer } from '../../../core/store/account/owners/customers.ts';
import { earlierLink } from '../../../core/store/account/owners/identity-links.ts';
import { findShared, sharedIn } from '../../../core/store/account/owners/shared-keys.ts';
import { waitToBeFolded } from '../../../core/store/account/profiles/refold.ts';
import { addMissingVisits, lockVisitors } from '../../../core/store/account/profiles/stored-profiles.ts';
import { addTasks } from '../../../core/store/account/tasks.ts';
import {
	ask,
	type Reading,
	type Row,
	raw,
	type Steps,
	select,
	sql,
	values,
} from '../../../core/store/steps.ts';
import { unique } from '../../../core/store/unique.ts';
import type { HitPlace } from './erasing.ts';

/** Hits that one transaction moves. */
const maxMoved = 500;
/** Rows of a page. */
const pageRows = 200;

/** The next visitors who have shown several customers, in the order of their `vid`. Hits of today make none. */
export function* sharedVisitors(after: string): Reading<string[]> {
	const rows =
		yield* select`vid FROM @claim AS shown WHERE vid > ${after} AND ${raw(showsCustomer('shown'))} GROUP BY vid HAVING count(*) > 1 ORDER BY vid LIMIT ${raw(pageRows)} /* shared visitors */`;
	return rows.map(({ vid }) => String(vid));
}

/** Those of them who have shown this customer. */
export function* sharedVisitorsOf(cid: string): Reading<string[]> {
	const rows =
		yield* select`vid FROM @claim AS shown WHERE vid IN (SELECT vid FROM @claim WHERE key = ${cidKey(cid)}) AND ${raw(showsCustomer('shown'))} GROUP BY vid HAVING count(*) > 1 ORDER BY vid /* shared visitors */`;
	return rows.map(({ vid }) => String(vid));
}

/** The customers that a visitor has shown, the first one first. */
export function* customersShownBy(vid: string): Reading<string[]> {
	const rows =
		yield* select`key FROM @claim AS shown WHERE vid = ${vid} AND ${raw(showsCustomer('shown'))} ORDER BY at, key /* customers shown */`;
	return rows.map(({ key }) => String(key).slice(2));
}

/** Where taking apart has arrived in a visitor's log. */
export interface ApartPlace {
	readonly after: HitPlace;
	/** The customer who was shown last; null before anybody was. */
	readonly cid: string | null;
}

export const logBegin: ApartPlace = { after: { atMs: Number.MIN_SAFE_INTEGER, id: 0 }, cid: null };

/**
 * Whose the next hits of a visitor are: each is of the customer who was shown last, and hits before anybody was named are the
 * first customer's, for whom the customer is null.
 */
export function* nextHits(
	vid: string,
	{ after, cid: before }: ApartPlace,
): Reading<{ hits: { row: Row; cid: string | null; body: HitRecord }[]; place: ApartPlace | undefined }> {
	const rows =
		yield* select`id, sid, at, body FROM @logged_hit WHERE vid = ${vid} AND (at, id) > (${after.atMs}, ${after.id}) ORDER BY at, id LIMIT ${raw(maxMoved)} /* take apart */`;
	const bodies = rows.map((row) => JSON.parse(String(row.body)) as HitRecord);
	const cids = bodies.flatMap((body) => (body.cid === null ? [] : [cidKey(body.cid)]));
	const shared = sharedIn(yield* findShared(cids));
	let cid = before;
	const hits = rows.map((row, index) => {
		const body = bodies[index] as HitRecord;
		if (namesCustomer(body.cid, shared)) cid = body.cid;
		return { row, cid, body };
	});
	const last = rows.length === maxMoved ? rows.at(-1) : undefined;
	return { hits, place: last && { after: { atMs: Number(last.at), id: Number(last.id) }, cid } };
}

/** Where it has arrived is kept beside figures, so that it goes on after a kill, when the earlier hits have gone. */
const placeOf = (vid: string) => `taken apart ${vid}`;

export function* findPlace(vid: string): Reading<ApartPlace | undefined> {
	const [row] = yield* select`body FROM @kept_figure WHERE name = ${placeOf(vid)} /* take apart */`;
	return row && JSON.parse(String(row.body));
}

/**
 * Gives the next hits of a visitor to the visitors of the other customers, with visits of their own. Links must be
 * rebuilt afterwards.
 * @param others the visitor of each customer but the first
 * @returns where it has arrived; undefined at the end
 */
export function* takeApart(
	vid: string,
	others: ReadonlyMap<string, string>,
	from: ApartPlace,
): Steps<ApartPlace | undefined> {
	yield [lockVisitors(unique([vid, ...others.values()]))];
	yield [{ settle: [vid] }];
	const { hits, place } = yield* nextHits(vid, from);
	const moved = hits.flatMap(({ row: { id, sid, at }, cid }) => {
		const owner = cid === null ? undefined : others.get(cid);
		if (owner === undefined) return [];
		return [{ id: Number(id), sid: String(sid), atMs: Number(at), owner, ownSid: sidOf(owner, String(sid)) }];
	});
	const owners = unique(moved.map(({ owner }) => owner));
	const sids = unique(moved.map(({ sid }) => sid));
	yield [
		sql`INSERT INTO @visitor (vid, profile) ${values(owners.map((owner) => [owner, JSON.stringify(emptyProfile(0))]))} ON CONFLICT (vid) DO NOTHING /* take apart */`,
		sql`UPDATE @hit SET vid = moved.column2, sid = moved.column3 FROM (${values(moved.map(({ id, owner, ownSid }) => [id, owner, ownSid]))}) AS moved WHERE id = moved.column1 /* take apart */`,
	];
	yield [
		sql`DELETE FROM @visit WHERE sid IN ${sids} AND NOT EXISTS (SELECT 1 FROM @hit AS hit WHERE hit.sid = visit.sid) /* take apart */`,
		addMissingVisits(moved.map(({ ownSid, owner, atMs }) => ({ sid: ownSid, vid: owner, firstMs: atMs }))),
		forgetDays(moved.map(({ atMs }) => atMs)),
		place
			? sql`INSERT INTO @kept_figure (name, at, body) ${values([[placeOf(vid), place.after.atMs, JSON.stringify(place)]])} ON CONFLICT (name) DO UPDATE SET at = excluded.at, body = excluded.body /* take apart */`
			: sql`DELETE FROM @kept_figure WHERE name = ${placeOf(vid)} /* take apart */`,
		...waitToBeFolded([vid, ...owners], unique([...sids, ...moved.map(({ ownSid }) => ownSid)])),
	];
	return place;
}

/** The part of a visit that is another visitor's. */
function sidOf(owner: string, sid: string): string {
	return owner.slice(0, 4) + hash('sha256', `${owner} ${sid}`).slice(4, 32);
}

/** Gives the other customers what retention has kept of their deleted hits. The background assigns the events that this joins. */
export function* takeKeptLinks(vid: string, others: ReadonlyMap<string, string>): Steps<void> {
	const { kept } = yield* ask({
		lock: { lock: 'exclusive', keys: 'all' },
		kept: select`key, at, unproven_until FROM @claim WHERE vid = ${vid} AND kept IS NOT NULL /* take apart */`,
	});
	const moved = kept.flatMap(({ key, at, unproven_until }) => {
		const owner = others.get(String(key).slice(2));
		if (owner === undefined || !String(key).startsWith('c:')) return [];
		const link = [String(key), Number(at), owner, 1] as const;
		return [{ link, unprovenUntilMs: unproven_until === null ? null : Number(unproven_until) }];
	});
	if (moved.length === 0) return;
	const keys = unique(moved.map(({ link: [key] }) => key));
	const vids = unique([vid, ...moved.map(({ link: [, , owner] }) => owner)]);
	yield* addTasks([...keys, ...vids.map((one) => `o:${one}`)]);
	yield [
		// PostgreSQL cannot tell the type of a column without a value.
		...[true, false].map((isProven) => {
			const some = moved.filter(({ unprovenUntilMs }) => (unprovenUntilMs === null) === isProven);
			const rows = some.map(({ link, unprovenUntilMs }) => (isProven ? link : [...link, unprovenUntilMs]));
			const column = raw(isProven ? '' : ', unproven_until');
			return sql`INSERT INTO @claim (key, at, vid, kept${column}) ${values(rows)} ON CONFLICT (vid, key) DO UPDATE SET ${raw(earlierLink)}, kept = 1 /* take apart */`;
		}),
		sql`DELETE FROM @claim WHERE vid = ${vid} AND key IN ${keys} /* take apart */`,
	];
}
