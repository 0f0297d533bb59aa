const maxPageCharacters = 100;
const maxUrlCharacters = 500;
/** Of a query so many characters are read: what follows a campaign may be thousands of parameters. */
const maxQueryCharacters = 2000;
/** A path that decodes to one of these stays encoded. */
const unprintable = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

/** An address, which may have been parsed before: for a long host that takes longer than anything else that is done with it. */
export type Address = string | URL | null | undefined;

/** The URL where it is one of a web page, else null. */
export function webUrl(url: Address): URL | null {
	const parsed = typeof url === 'string' ? URL.parse(url) : url;
	return parsed && /^https?:$/.test(parsed.protocol) ? parsed : null;
}

/** What is read of the query, in whole parameters, without the question mark. */
export function queryOf({ search }: URL): string {
	if (search.length <= maxQueryCharacters) return search.slice(1);
	const read = search.slice(1, 1 + maxQueryCharacters);
	return read.slice(0, Math.max(0, read.lastIndexOf('&')));
}

/** The page as profiles know it: the URL's path, decoded, without slashes at its ends; `/` for the root. */
export function pageOf(url: Address): string | null {
	const parsed = webUrl(url);
	if (!parsed) return null;
	const path = trimSlashes(decode(parsed.pathname));
	return path === '' ? '/' : truncate(path, maxPageCharacters);
}

/**
 * The URL as it is stored: origin, path, and parameters that name a campaign. Other parameters and the fragment may
 * hold personal data, as may a user name in front of the host.
 */
export function cleanUrl(url: Address): string | null {
	const parsed = webUrl(url);
	if (!parsed) return null;
	let cleaned = truncate(parsed.origin + parsed.pathname, maxUrlCharacters);
	let separator = '?';
	for (const parameter of queryOf(parsed).split('&')) {
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

/** Not a pattern with `/+$`, which takes quadratic time on a path of slashes. */
function trimSlashes(path: string): string {
	let start = 0;
	let end = path.length;
	while (path[start] === '/') start++;
	while (end > start && path[end - 1] === '/') end--;
	return path.slice(start, end);
}

/** Never between the halves of a character. */
function truncate(text: string, maxCharacters: number): string {
	if (text.length <= maxCharacters) return text;
	const last = text.charCodeAt(maxCharacters - 1);
	return text.slice(0, last >= 0xd800 && last <= 0xdbff ? maxCharacters - 1 : maxCharacters);
}
