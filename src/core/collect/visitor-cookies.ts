import { isSubject } from '../domain/cask-scope.ts';

/** 13 months from the first sight: as long as the tag keeps a visitor, and no longer, however often the browser comes. */
const lifetimeSeconds = 395 * 86_400;

/** What the cookies of a browser say about its visitor. The tag writes the same ones, see `tag/cookies.ts`. */
export interface VisitorCookies {
	/** Absent where there is none that is valid. */
	readonly vid?: string;
	/** When the browser was first seen, in seconds since 1970. Absent where nothing says so. */
	readonly since?: number;
	readonly hasFirst: boolean;
}

/**
 * Reads the cookies of a request. Of several with one name, the one that was seen first counts, else the smallest: any order
 * gives the same.
 */
export function readVisitorCookies(header: string | undefined, nowMs: number): VisitorCookies {
	const now = Math.floor(nowMs / 1000);
	const pairs = (header ?? '').split('; ');
	const found = (name: string) =>
		pairs
			.filter((pair) => pair.startsWith(`${name}=`))
			.map((pair) => pair.slice(name.length + 1))
			.sort()
			// An older cookie has no date. A date in the future was written by a wrong clock.
			.map((value) => ({
				id: value.slice(0, 32),
				since: Math.min(Number.parseInt(value.slice(33), 36) || now, now),
			}))
			.filter(({ id, since }) => isSubject(id) && since + lifetimeSeconds > now)
			.sort((a, b) => a.since - b.since)[0];
	const visitor = found('vscr_vid');
	const dates = [visitor, found('vscr_seed')].flatMap((cookie) => cookie?.since ?? []);
	return {
		...(visitor && { vid: visitor.id }),
		...(dates.length > 0 && { since: Math.min(...dates) }),
		hasFirst: pairs.some((pair) => pair.startsWith('vscr_first=')),
	};
}

/** How cookies are to be set. */
export interface CookieScope {
	/** For the host alone if there is none. */
	readonly domain: string | undefined;
	readonly isSecure: boolean;
}

/**
 * The values of `Set-Cookie` by which a browser keeps its visitor until 13 months after the first sight.
 * @param visitor.firstVid who the browser was first, where that is somebody else
 */
export function visitorCookies(
	visitor: { readonly vid: string; readonly firstVid?: string },
	{ since, hasFirst }: Pick<VisitorCookies, 'hasFirst'> & { readonly since: number },
	{ domain, isSecure }: CookieScope,
	nowMs: number,
): string[] {
	const leftSeconds = since + lifetimeSeconds - Math.floor(nowMs / 1000);
	const cookie = (name: string, value: string, seconds: number) =>
		`${name}=${value}; Path=/; Max-Age=${seconds}${domain ? `; Domain=${domain}` : ''}; SameSite=Lax${isSecure ? '; Secure' : ''}`;
	const { vid, firstVid } = visitor;
	const cookies = [cookie('vscr_vid', `${vid}.${since.toString(36)}`, leftSeconds)];
	if (firstVid !== undefined) cookies.push(cookie('vscr_first', firstVid, leftSeconds));
	else if (hasFirst) cookies.push(cookie('vscr_first', '', 0));
	return cookies;
}
