/** One row of a file: a line of JSON, or a row of CSV, which may span several lines. */
export interface FileRow {
	readonly line: number;
	/** As it is in the file; empty if it is too long. */
	readonly text: string;
	/** The row's fields, by name. */
	readonly fields?: unknown;
	/** Why the row could not be parsed. */
	readonly problem?: string;
}

/** The first row of CSV, and what separates cells. */
export interface Header {
	readonly names: readonly string[];
	readonly separator: string;
}
