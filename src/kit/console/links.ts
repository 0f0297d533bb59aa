/** The page of a visitor. */
export function visitorPath(aid: string, vid: string): string {
	return `/console/${aid}/visitors/${encodeURIComponent(vid)}`;
}

/** The page of a subscription event. */
export function eventPath(aid: string, tid: string): string {
	return `/console/${aid}/events/${encodeURIComponent(tid)}`;
}

/** The page with everything of a customer. */
export function customerPath(aid: string, cid: string): string {
	return `/console/${aid}/customers/${encodeURIComponent(cid)}`;
}

/** Visitors and events with what somebody looks for. */
export function searchPath(aid: string, text: string): string {
	return `/console/${aid}/visitors?${new URLSearchParams({ find: text })}`;
}

/** A page of the console under a name. Its address is all that it shows. */
export interface NamedView {
	readonly name: string;
	/** What follows the account in the path; empty for the overview. */
	readonly page: string;
	/** Without the question mark. */
	readonly query: string;
}

/** The page that a named view shows. */
export function viewPath(aid: string, { page, query }: Pick<NamedView, 'page' | 'query'>): string {
	return `/console/${aid}/${page}${query === '' ? '' : `?${query}`}`;
}
