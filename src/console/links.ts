/** The page of a visitor. */
export function visitorPath(aid: string, vid: string): string {
	return `/console/${aid}/visitors/${encodeURIComponent(vid)}`;
}

/** The page of a subscription event. */
export function eventPath(aid: string, tid: string): string {
	return `/console/${aid}/events/${encodeURIComponent(tid)}`;
}

/** Visitors and events with what somebody looks for. */
export function searchPath(aid: string, text: string): string {
	return `/console/${aid}/visitors?${new URLSearchParams({ find: text })}`;
}
