import { randomUUID } from 'node:crypto';

/** The accounts that are uploaded to, from 1 on. */
export const aidOf = (account: number) => `c-a-bench-${account}`;

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

/** Makes bodies of `rows` events, all of one length; cheap, because all but a few digits is made once. */
export function bodies(prefix: string, rows: number, tids: Tids = 'rising'): (request: number) => string {
	const mark = 12_345_678;
	const data = Array.from({ length: rows }, (_, index) => {
		const event = eventOf(prefix, mark, index + 1);
		return tids === 'rising' ? event : { ...event, tid: `${mark}${mark}-${event.tid}` };
	});
	const pieces = JSON.stringify({ aid: aidOf(1), data }).split(String(mark));
	if (tids === 'rising') return (request) => pieces.join(String(request).padStart(8, '0'));
	return (request) =>
		pieces.reduce((body, piece, index) => {
			// The last digits of a tid count; those before are random.
			const digits = index % 3 === 0 ? String(request).padStart(8, '0') : randomDigits();
			return body + digits + piece;
		});
}

function randomDigits(): string {
	return String(Math.floor(Math.random() * 1e8)).padStart(8, '0');
}
