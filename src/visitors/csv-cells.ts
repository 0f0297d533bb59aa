/** The cells of one row of CSV (RFC 4180); null where its quotes are not as they must be. */
export function csvCells(row: string): string[] | null {
	if (!row.includes('"')) return row.split(',');
	const cells: string[] = [];
	for (let from = 0; from <= row.length; ) {
		if (row[from] !== '"') {
			const comma = row.indexOf(',', from);
			const end = comma < 0 ? row.length : comma;
			const cell = row.slice(from, end);
			if (cell.includes('"')) return null;
			cells.push(cell);
			from = end + 1;
			continue;
		}
		let end = row.indexOf('"', from + 1);
		while (end >= 0 && row[end + 1] === '"') end = row.indexOf('"', end + 2);
		if (end < 0 || (end + 1 < row.length && row[end + 1] !== ',')) return null;
		cells.push(row.slice(from + 1, end).replaceAll('""', '"'));
		from = end + 2;
	}
	return cells;
}
