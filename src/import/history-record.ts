/** One line of a file of history, or one row of CSV that goes over several. */
export interface HistoryRecord {
	/** Of the file, from 1. */
	readonly line: number;
	/** What the line says, by name. */
	readonly fields?: unknown;
	/** Why it says nothing. */
	readonly problem?: string;
}
