import { type Reading, raw, select } from '../../steps.ts';
import { showsCustomer } from '../owners/customers.ts';

/** Who had first shown the earliest customer id that a row of `claim`, `own`, is about. */
const firstHolder =
	'(SELECT first.vid FROM @claim AS first WHERE first.key = own.key ORDER BY first.at, first.vid LIMIT 1)';

/** The visitor that stands for all whom a customer id joins, and since when that was known. */
export interface JoinedPerson {
	readonly person: string;
	readonly sinceMs: number;
}

/**
 * The visitors who stand for these in experiments, by `vid`: each is the first who had shown the customer id that the visitor
 * showed first. Those who have shown none up to the moment are left out.
 */
export function* personsOf(
	vids: readonly string[],
	asOfMs = Number.MAX_SAFE_INTEGER,
): Reading<Map<string, JoinedPerson>> {
	const rows =
		yield* select`own.vid, own.at, ${raw(firstHolder)} AS person FROM @claim AS own WHERE own.at <= ${asOfMs} AND own.vid IN ${vids} AND ${raw(showsCustomer('own'))} ORDER BY own.at DESC, own.key DESC /* persons */`;
	// The first of each visitor comes last, and stays.
	return new Map(
		rows.map(({ vid, at, person }) => [String(vid), { person: String(person), sinceMs: Number(at) }]),
	);
}

/** These visitors, and all who have shown one of their customer ids up to the moment. */
export function* sharingCids(vids: readonly string[], asOfMs: number): Reading<string[]> {
	const rows =
		yield* select`DISTINCT other.vid FROM @claim AS own JOIN @claim AS other ON other.key = own.key WHERE own.vid IN ${vids} AND ${raw(showsCustomer('own'))} AND other.at <= ${asOfMs} /* sharing cids */`;
	return rows.map(({ vid }) => String(vid));
}

/** Whether a visitor has shown a customer id, in no or some rows: few have, and this costs half of finding out who stands for them. */
export function cidsSql(tableOf: (name: string) => string, parameter: string): string {
	return `SELECT 1 FROM ${tableOf('claim')} AS own WHERE own.vid = ${parameter} AND ${showsCustomer('own')} LIMIT 1 /* cids */`;
}

/** The same for one visitor or visit, in one row; none where no customer id was shown. @param scope whose id the parameter is */
export function personSql(
	scope: 'vid' | 'sid',
	tableOf: (name: string) => string,
	parameter: string,
): string {
	const claim = tableOf('claim');
	const first = firstHolder.replace('@claim', claim);
	return scope === 'vid'
		? `SELECT ${first} AS person FROM ${claim} AS own WHERE own.vid = ${parameter} AND ${showsCustomer('own')} ORDER BY own.at, own.key LIMIT 1 /* person */`
		: `SELECT coalesce((SELECT ${first} FROM ${claim} AS own WHERE own.vid = visit.vid AND ${showsCustomer('own')} ORDER BY own.at, own.key LIMIT 1), visit.vid) AS person FROM ${tableOf('visit')} AS visit WHERE visit.sid = ${parameter} /* person of a visit */`;
}
