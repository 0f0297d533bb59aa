/** One line of a history file, or one CSV row, which may span several lines. */
export interface HistoryRecord {
	/** Line number in the file, from 1. */
	readonly line: number;
	/** The line's fields, by name. */
	readonly fields?: unknown;
	/** Why the line could not be parsed. */
	readonly problem?: string;
}
