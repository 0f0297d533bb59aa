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

/** The page that a named view shows. */
export function viewPath(
	aid: string,
	{ page, query }: { readonly page: string; readonly query: string },
): string {
	return `/console/${aid}/${page}${query === '' ? '' : `?${query}`}`;
}
