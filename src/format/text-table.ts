/**
 * The lines of a table in columns of equal width.
 * @param isNumeric of each column: whether it is aligned to the right
 */
export function textTable(
	columns: readonly string[],
	rows: readonly (readonly string[])[],
	isNumeric: readonly boolean[],
): string[] {
	const lines = [columns, ...rows];
	const widths = columns.map((_, place) =>
		Math.max(...lines.map((cells) => (cells[place] as string).length)),
	);
	return lines.map((cells) =>
		cells
			.map((cell, place) => {
				const width = widths[place] as number;
				return isNumeric[place] ? cell.padStart(width) : cell.padEnd(width);
			})
			.join('  ')
			.trimEnd(),
	);
}
