import assert from 'node:assert/strict';
import type { Log, LoggedHit } from '../core/store/stored-log.ts';
import { customersOf, isNobody } from './model.ts';

/** The visitors who have shown several customers. */
export function sharedIn(log: Log): Set<string> {
	return new Set(
		customersOf(log)
			.entries()
			.filter(([, cids]) => cids.size > 1)
			.map(([vid]) => vid),
	);
}

function customerIn({ body: { cid } }: LoggedHit, shared: Log['shared']): string | undefined {
	return cid === null || isNobody(cid) || shared.has(`c:${cid}`) ? undefined : cid;
}

/** Checks that visitors who had shown several customers were taken apart, and nothing else was changed. */
export function checkApart(before: Log, after: Log, shared: ReadonlySet<string> = sharedIn(before)): void {
	const now = new Map(after.hits.map((hit) => [hit.body.title, hit]));
	assert.equal(now.size, before.hits.length, 'no hit is lost or made');
	assert.deepEqual(after.events, before.events);
	const still = sharedIn(after);
	for (const vid of shared) assert.ok(!still.has(vid), `${vid} is one customer`);
	for (const [vid, hits] of Map.groupBy(before.hits, (hit) => hit.vid)) {
		const kept = before.kept.links.filter((link) => link.vid === vid && link.key.startsWith('c:'));
		const shows = [
			...kept.map(({ key, atMs }) => ({ cid: key.slice(2), atMs })),
			...hits.flatMap((hit) => ({ cid: customerIn(hit, after.shared), atMs: hit.atMs })),
		].filter(({ cid }) => cid !== undefined && !isNobody(cid));
		const firstMs = Math.min(...shows.map(({ atMs }) => atMs));
		const firsts = new Set(shows.filter(({ atMs }) => atMs === firstMs).map(({ cid }) => cid));
		const owners = new Map<string, string>();
		for (const hit of hits) {
			const { body, atMs, text } = hit;
			const found = now.get(body.title);
			assert.deepEqual([found?.atMs, found?.text], [atMs, text]);
			if (!shared.has(vid))
				assert.deepEqual([found?.vid, found?.sid], [hit.vid, hit.sid], `${body.title} stays`);
			const cid = customerIn(hit, after.shared);
			if (!found || !shared.has(vid) || cid === undefined) continue;
			assert.equal(owners.getOrInsert(cid, found.vid), found.vid, `${cid} is one visitor`);
			if (firsts.size === 1 && firsts.has(cid)) assert.equal(found.vid, vid, `${cid} was first`);
		}
		assert.equal(new Set(owners.values()).size, owners.size, 'each customer is a visitor');
		if (!shared.has(vid)) continue;
		for (const hit of hits) {
			if (customerIn(hit, after.shared) !== undefined) continue;
			const lastMs = Math.max(...shows.map(({ atMs }) => atMs).filter((atMs) => atMs <= hit.atMs));
			const last = new Set(shows.filter(({ atMs }) => atMs === lastMs).map(({ cid }) => cid as string));
			const [cid = ''] = last;
			const owner = lastMs === Number.NEGATIVE_INFINITY ? vid : owners.get(cid);
			// At one moment, hits are in any order; and of deleted hits, only the first of each customer is known.
			if (last.size > 1 || lastMs === hit.atMs || owner === undefined || kept.length > 0) continue;
			assert.equal(now.get(hit.body.title)?.vid, owner, `${hit.body.title} is of who was named last`);
		}
	}
}
