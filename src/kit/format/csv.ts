/** A cell of CSV (RFC 4180): empty for nothing, quoted where it must be. */
export function csvCell(value: string | number | null | undefined, separator = ','): string {
	const text = String(value ?? '');
	return /["\r\n]/.test(text) || text.includes(separator) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** A row of CSV, with its end of line. */
export function csvRow(cells: readonly (string | number | null | undefined)[]): string {
	return `${cells.map((cell) => csvCell(cell)).join(',')}\r\n`;
}
