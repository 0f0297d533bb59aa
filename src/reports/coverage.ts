import type { Calendar } from './calendar.ts';
import { isIn, type Period } from './journey.ts';

/** How an event was joined to its visitor. */
export type JoinedBy = 'tid' | 'cid' | 'subid' | 'unjoined';

export interface CoveredEvent {
	readonly atMs: number;
	readonly evt: string;
	readonly revenuePence: number;
	readonly joinedBy: JoinedBy;
}

/** Events by how they were joined. */
export interface Coverage {
	readonly events: number;
	readonly tid: number;
	readonly cid: number;
	readonly subid: number;
	readonly unjoined: number;
	readonly tidPence: number;
	readonly cidPence: number;
	readonly subidPence: number;
	readonly unjoinedPence: number;
}

/** The events of a month and `evt`. */
export interface CoverageRow extends Coverage {
	readonly month: string;
	readonly evt: string;
}

const columns = [
	...(['events', 'tid', 'cid', 'subid', 'unjoined'] as const),
	...(['tidPence', 'cidPence', 'subidPence', 'unjoinedPence'] as const),
];

/** Counts how events were joined, which explains the size of `(none)` in other reports. */
export function describeCoverage(
	events: Iterable<CoveredEvent>,
	{ period, calendar }: { readonly period: Period; readonly calendar: Calendar },
): CoverageRow[] {
	const rows = new Map<string, { -readonly [Column in keyof CoverageRow]: CoverageRow[Column] }>();
	for (const { atMs, evt, revenuePence, joinedBy } of events) {
		if (!isIn(period, atMs)) continue;
		const month = calendar.monthOf(atMs);
		let row = rows.get(`${month} ${evt}`);
		if (!row) {
			const pence = { tidPence: 0, cidPence: 0, subidPence: 0, unjoinedPence: 0 };
			row = { month, evt, events: 0, tid: 0, cid: 0, subid: 0, unjoined: 0, ...pence };
			rows.set(`${month} ${evt}`, row);
		}
		row.events++;
		row[joinedBy]++;
		row[`${joinedBy}Pence`] += revenuePence;
	}
	return [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
}

/** All rows as one. */
export function totalCoverage(rows: readonly Coverage[]): Coverage {
	const sums = columns.map((column) => [column, rows.reduce((sum, row) => sum + row[column], 0)]);
	return Object.fromEntries(sums);
}
