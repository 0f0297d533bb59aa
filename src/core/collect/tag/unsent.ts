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

/**
 * Takes what the page before has left in this tab, and leaves something for the next one. A copy of the tab has it only between two
 * pages, so nothing is sent twice.
 */
export function exchangeLeft(next?: Left): Left {
	let left: Left | null = null;
	try {
		left = JSON.parse(sessionStorage.vscr || null);
		delete sessionStorage.vscr;
		if (next) sessionStorage.vscr = JSON.stringify(next);
	} catch {}
	return left || [[], ''];
}
