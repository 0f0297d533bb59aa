import type { Participant, ShownCid } from '../../../domain/ownership.ts';
import { type Reading, type Row, raw, select } from '../../steps.ts';
import { showsCustomer } from '../owners/customers.ts';

/** The customers that these visitors had shown first, by `vid`, of those who had shown one up to the moment. */
export function* firstCustomersOf(
	vids: readonly string[],
	asOfMs = Number.MAX_SAFE_INTEGER,
): Reading<Map<string, ShownCid>> {
	const rows =
		yield* select`own.vid, own.at, own.key FROM @claim AS own WHERE own.at <= ${asOfMs} AND own.vid IN ${vids} AND ${raw(showsCustomer('own'))} ORDER BY own.at DESC, own.key DESC /* first customers */`;
	// The first of each visitor comes last, and stays.
	return new Map(rows.map(({ vid, at, key }) => [String(vid), shownCid(at, key)]));
}

function shownCid(at: unknown, key: unknown): ShownCid {
	return { cid: String(key).slice(2), atMs: Number(at) };
}

/** These visitors, and all who have shown one of their customer ids up to the moment. */
export function* sharingCids(vids: readonly string[], asOfMs: number): Reading<string[]> {
	const rows =
		yield* select`DISTINCT other.vid FROM @claim AS own JOIN @claim AS other ON other.key = own.key WHERE own.vid IN ${vids} AND ${raw(showsCustomer('own'))} AND other.at <= ${asOfMs} /* sharing cids */`;
	return rows.map(({ vid }) => String(vid));
}

/**
 * In SQL, for a serving process: the visitor, or the visitor of a visit, with the customer that it has shown first. No row
 * for a visitor who has shown none, and for an unknown visit.
 * @param scope whose id the parameter is
 */
export function participantSql(
	scope: 'vid' | 'sid',
	tableOf: (name: string) => string,
	parameter: string,
): string {
	const own = `${tableOf('claim')} AS own`;
	return scope === 'vid'
		? `SELECT own.vid AS vid, own.at AS at, own.key AS key FROM ${own} WHERE own.vid = ${parameter} AND ${showsCustomer('own')} ORDER BY own.at, own.key LIMIT 1 /* participant */`
		: `SELECT visit.vid AS vid, own.at AS at, own.key AS key FROM ${tableOf('visit')} AS visit LEFT JOIN ${own} ON own.vid = visit.vid AND ${showsCustomer('own')} WHERE visit.sid = ${parameter} ORDER BY own.at, own.key LIMIT 1 /* participant of a visit */`;
}

/** @param row of `participantSql` */
export function participantIn(row: Row | undefined): Participant | null {
	if (!row) return null;
	return { vid: String(row.vid), customer: row.key === null ? null : shownCid(row.at, row.key) };
}
