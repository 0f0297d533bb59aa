/** The type `text` in PostgreSQL's catalog. */
const textOid = 25;
/** Number of dimensions, whether there are nulls, element type, number of elements, index of the first element. */
const headerBytes = 20;
/** One UTF-16 code unit takes at most this many bytes in UTF-8. */
const maxBytesPerUnit = 3;

/**
 * A `text[]` in PostgreSQL's binary format. Nothing has to be quoted, which matters because JSON is full of quotes. See
 * https://www.postgresql.org/docs/current/protocol-message-formats.html and `array_recv` in PostgreSQL's source.
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
