import { hash } from 'node:crypto';
import type { HitRecord } from '../../../core/domain/stored-hit.ts';
import { type Reading, type Row, raw, type Steps, select } from '../../../core/store/steps.ts';

/** The maximum number of rows of a long log that an import reads in one transaction. */
export const maxRead = 1000;

/** A moment of a visitor. */
export interface Moment {
	readonly vid: string;
	readonly atMs: number;
}

/**
 * What is stored of a visitor at a moment with more than `maxRead` hits, which files have where they name days only. An import
 * reads it once, not in each of its transactions.
 */
export interface CrowdedMoment extends Moment {
	readonly digests: Set<string>;
	/** Up to this hit of the account, all are in `digests`. Imports store one after another, so theirs have later ids. */
	toId: number;
}

export function isCrowded(
	crowded: CrowdedMoment | undefined,
	{ vid, atMs }: Moment,
): crowded is CrowdedMoment {
	return crowded?.vid === vid && crowded.atMs === atMs;
}

/** Reads a crowded moment. This takes a while, so it should be done without locks. */
export function* readCrowded({ vid, atMs }: Moment): Reading<CrowdedMoment> {
	const [last] = yield* select`max(id) AS id FROM @hit /* crowded moment */`;
	const rows = yield* select`body FROM @logged_hit WHERE vid = ${vid} AND at = ${atMs} /* crowded moment */`;
	return { vid, atMs, digests: new Set(rows.map(digestOfRow)), toId: Number(last?.id ?? 0) };
}

/** Adds what was stored since. What is known stays true if the transaction is rolled back. */
export function* catchUp(crowded: CrowdedMoment): Steps<void> {
	let rows: readonly Row[];
	do {
		rows =
			yield* select`id, vid, at, body FROM @hit WHERE id > ${crowded.toId} ORDER BY id LIMIT ${raw(maxRead)} /* crowded moment */`;
		for (const row of rows)
			if (row.vid === crowded.vid && Number(row.at) === crowded.atMs) crowded.digests.add(digestOfRow(row));
		crowded.toId = Number(rows.at(-1)?.id ?? crowded.toId);
	} while (rows.length === maxRead);
}

function digestOfRow({ body }: Row): string {
	return digestOf(JSON.parse(String(body)));
}

/** What the hits of a visitor at one moment are told apart by. */
export function digestOf(body: HitRecord): string {
	return hash('sha256', identityOf(body), 'base64');
}

/** Ignores what channel rules and later versions of Caskade may derive differently, and whether ids are proven. */
export function identityOf({ url, referrer, title, events, cid }: HitRecord): string {
	const shown = events.map(({ isTidUnproven: _, ...event }) => event);
	return JSON.stringify([url, referrer, title, shown, cid]);
}
