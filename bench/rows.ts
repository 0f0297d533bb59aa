import { randomUUID } from 'node:crypto';

/** The account that is uploaded to. */
export const aid = 'c-a-bench-uk';

/** Events of a large request. */
export const manyRows = 30;

/** `rising` appends to the index over tid, `random` writes to it at random places. */
export type Tids = 'rising' | 'random';

let uploads = 0;

/** Starts the tids of one stretch of load; never the same twice, and rising. */
export function nextPrefix(): string {
	uploads++;
	return String(Math.floor(Date.now() / 1000) * 1000 + uploads);
}

/** An event as `upload.lua` makes it. */
export function eventOf(prefix: string, request: number, row: number, tids: Tids = 'rising') {
	const number = String(request).padStart(8, '0');
	return {
		tid: tids === 'random' ? randomUUID() : `o-${prefix}-${number}-${String(row).padStart(2, '0')}`,
		subid: `sub-${String(row * 37).padStart(6, '0')}`,
		cid: `cust-${String(row * 91).padStart(6, '0')}`,
		evt: 'newsletter',
		rvn: 1000 + row,
	};
}

/** Makes bodies of `rows` events; cheap, because all but the request's number is made once. */
export function bodies(prefix: string, rows: number): (request: number) => string {
	const mark = 12_345_678;
	const data = Array.from({ length: rows }, (_, index) => eventOf(prefix, mark, index + 1));
	const pieces = JSON.stringify({ aid, data }).split(String(mark));
	return (request) => pieces.join(String(request).padStart(8, '0'));
}
