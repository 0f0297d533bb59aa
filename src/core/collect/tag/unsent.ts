import type { HitEvent } from '../../../../client/tag/src/vscr.ts';

/** A hit without its visitor. */
export interface UnsentHit {
	readonly aid: string;
	readonly cid?: string | undefined;
	/** Of the page, where the hit is its first. */
	readonly url?: string;
	readonly referrer?: string;
	readonly title?: string;
	readonly events: HitEvent[];
}

/** Hits that the browser would not take from a page, and the page's address. */
export type Left = [hits: UnsentHit[], url: string];

/** Arrays as they are: old libraries give all of them a `toJSON` that makes texts. */
export function json(value: object): string {
	return JSON.stringify(value, function (this: Record<string, unknown>, key, made) {
		const own = this[key];
		return Array.isArray(own) ? own : made;
	});
}

/**
 * Takes what the page before has left in this tab, and leaves something for the next one. A copy of the tab has it only between two
 * pages, so nothing is sent twice.
 */
export function exchangeLeft(next?: Left): Left {
	let left: Left = [[], ''];
	try {
		left = JSON.parse(sessionStorage.vscr || json(left));
		delete sessionStorage.vscr;
		// A frame of the page may have left something just now.
		if (next) sessionStorage.vscr = json([left[0].concat(next[0]), next[1]]);
	} catch {}
	return left;
}
