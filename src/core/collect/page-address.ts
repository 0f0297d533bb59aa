const maxPageCharacters = 100;
const maxUrlCharacters = 500;
/** Only this much of a query is read. Campaign parameters may be followed by thousands of others. */
const maxQueryCharacters = 2000;
/** A path that decodes to one of these characters stays encoded. */
const unprintable = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

/**
 * A URL, parsed or not. Callers parse once and pass the result on: for a long host, parsing costs more than all other
 * work.
 */
export type Address = string | URL | null | undefined;

/** The URL if it is `http` or `https`, else null. */
export function webUrl(url: Address): URL | null {
	const parsed = typeof url === 'string' ? URL.parse(url) : url;
	return parsed && /^https?:$/.test(parsed.protocol) ? parsed : null;
}

/** The part of the query that is read, in whole parameters, without the question mark. */
export function searchOf({ search }: URL): string {
	if (search.length <= maxQueryCharacters) return search.slice(1);
	const read = search.slice(1, 1 + maxQueryCharacters);
	return read.slice(0, Math.max(0, read.lastIndexOf('&')));
}

/** The page's name in profiles: the decoded path without leading and trailing slashes, `/` for the root. */
export function pageOf(url: Address): string | null {
	const parsed = webUrl(url);
	if (!parsed) return null;
	const path = trimSlashes(decode(parsed.pathname));
	return path === '' ? '/' : truncate(path, maxPageCharacters);
}

/**
 * The URL to store: origin, path and campaign parameters. Other parameters, the fragment and a user name may hold
 * personal data.
 */
export function cleanUrl(url: Address): string | null {
	const parsed = webUrl(url);
	if (!parsed) return null;
	let cleaned = truncate(parsed.origin + parsed.pathname, maxUrlCharacters);
	let separator = '?';
	for (const parameter of searchOf(parsed).split('&')) {
		const isCampaign = /^utm_[a-z_]+=/i.test(parameter);
		if (!isCampaign || cleaned.length + 1 + parameter.length > maxUrlCharacters) continue;
		cleaned += separator + parameter;
		separator = '&';
	}
	return cleaned;
}

function decode(path: string): string {
	try {
		const decoded = decodeURIComponent(path);
		return unprintable.test(decoded) ? path : decoded;
	} catch {
		return path;
	}
}

/** A loop, because the pattern `/+$` takes quadratic time on a path of slashes. */
function trimSlashes(path: string): string {
	let start = 0;
	let end = path.length;
	while (path[start] === '/') start++;
	while (end > start && path[end - 1] === '/') end--;
	return path.slice(start, end);
}

/** Never cuts a surrogate pair in half. */
function truncate(text: string, maxCharacters: number): string {
	if (text.length <= maxCharacters) return text;
	const last = text.charCodeAt(maxCharacters - 1);
	return text.slice(0, last >= 0xd800 && last <= 0xdbff ? maxCharacters - 1 : maxCharacters);
}
