import { randomUUID } from 'node:crypto';

/** Account tokens of the benchmarks, numbered from 1. */
export const aidOf = (account: number) => `c-a-bench-${account}`;

/** Events in an upload, unless a benchmark says otherwise. */
export const eventsPerUpload = 30;

/** `rising` tids are appended to the index over tid, `random` ones are inserted all over it. */
export type Tids = 'rising' | 'random';

let uploads = 0;

/** Returns a prefix for the tids of one run. Prefixes rise and never repeat. */
export function nextPrefix(): string {
	uploads++;
	return String(Math.floor(Date.now() / 1000) * 1000 + uploads);
}

/** An event like those of `uploads.lua`. */
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

/**
 * Returns a function that builds upload bodies of `rows` events, all of the same length. It is cheap, because it prepares
 * all but a few digits once.
 */
export function bodyMaker(prefix: string, rows: number, tids: Tids = 'rising'): (request: number) => string {
	/** Stands for the number of the request. */
	const placeholder = 12_345_678;
	const data = Array.from({ length: rows }, (_, index) => {
		const event = eventOf(prefix, placeholder, index + 1);
		return tids === 'rising' ? event : { ...event, tid: `${placeholder}${placeholder}-${event.tid}` };
	});
	const pieces = JSON.stringify({ aid: aidOf(1), data }).split(String(placeholder));
	if (tids === 'rising') return (request) => pieces.join(String(request).padStart(8, '0'));
	return (request) =>
		pieces.reduce((body, piece, index) => {
			// The last digits of a tid are the number of the request; those before are random.
			const digits = index % 3 === 0 ? String(request).padStart(8, '0') : randomDigits();
			return body + digits + piece;
		});
}

function randomDigits(): string {
	return String(Math.floor(Math.random() * 1e8)).padStart(8, '0');
}
