/** The type `text` in PostgreSQL's catalog. */
const textOid = 25;
/** Dimensions, whether there are nulls, the elements' type; the number of elements, and the number of the first. */
const headerBytes = 20;
/** A character of a JavaScript string takes no more in UTF-8. */
const maxBytesPerUnit = 3;

/**
 * A `text[]` as PostgreSQL takes it in binary: nothing has to be quoted, and JSON is full of quotes.
 * https://www.postgresql.org/docs/current/protocol-message-formats.html, `array_recv` in its source
 */
export function textArray(values: readonly (string | null)[]): Buffer {
	let size = headerBytes + 4 * values.length;
	for (const value of values) size += value === null ? 0 : value.length * maxBytesPerUnit;
	const buffer = Buffer.allocUnsafe(size);
	let at = headerBytes;
	let hasNull = 0;
	for (const value of values) {
		if (value === null) {
			hasNull = 1;
			at = buffer.writeInt32BE(-1, at);
			continue;
		}
		const bytes = buffer.write(value, at + 4, 'utf8');
		buffer.writeInt32BE(bytes, at);
		at += 4 + bytes;
	}
	buffer.writeInt32BE(values.length === 0 ? 0 : 1, 0);
	buffer.writeInt32BE(hasNull, 4);
	buffer.writeInt32BE(textOid, 8);
	if (values.length === 0) return buffer.subarray(0, 12);
	buffer.writeInt32BE(values.length, 12);
	buffer.writeInt32BE(1, 16);
	return buffer.subarray(0, at);
}

/** A `bigint[]` as text. */
export function numberArray(values: readonly (number | null)[]): string {
	return `{${values.map((value) => value ?? 'NULL').join(',')}}`;
}
