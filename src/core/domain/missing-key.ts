/**
 * Texts that programs write into a `tid`, `cid` or `subid` where they have none: what languages print for a missing value
 * (JavaScript, Python, Java, C, Ruby, SQL, spreadsheets), what templates leave where nothing was filled in, and what shops
 * call whoever has not signed in. In lower case. They are nobody's, so they join nobody.
 */
export const missingKeys: readonly string[] = [
	...['', '-', '--', '_', '.', '0', '-1'],
	// JavaScript
	...['undefined', 'null', 'nan', '[object object]', '[object undefined]', '[object null]', 'false'],
	// Python, Ruby, C, C#, Java, SQL
	...['none', 'nil', '<nil>', '<null>', '(null)', '(none)', '[null]', '{}', '[]', '""', "''"],
	// UUIDs and numbers that nobody was given
	'00000000-0000-0000-0000-000000000000',
	// Spreadsheets and forms
	...['n/a', 'na', '#n/a', '#ref!', '#value!', '#null!', 'missing', 'empty', 'blank', 'unset', 'not set'],
	// Analytics
	...['(not set)', '(not provided)', 'unknown', '(unknown)', 'unassigned', 'notset', 'not_set'],
	// Shops
	...['anonymous', 'anon', 'guest', 'visitor', 'not logged in', 'not_logged_in', 'logged-out', 'logged_out'],
];

const isMissing = new Set(missingKeys);
/** Of an id that nobody was given, with spaces around it. */
const maxLength = 48;

/**
 * How texts begin and end that may stand for a missing key. Nearly all ids begin or end otherwise, which is found out at once. To look
 * a text up costs more, because the runtime then keeps a copy of it.
 */
const mayBegin = new Uint8Array(128);
const mayEnd = new Uint8Array(128);
for (const key of missingKeys)
	for (const text of [key, key.toUpperCase(), ' ']) {
		mayBegin[text.charCodeAt(0)] = 1;
		mayEnd[text.charCodeAt(text.length - 1)] = 1;
	}

/** Whether a key joins nobody, because it stands for a missing one. Spaces around it and capitals do not matter. */
export function isMissingKey(text: string): boolean {
	const { length } = text;
	if (length > maxLength) return false;
	if (length > 0 && (mayBegin[text.charCodeAt(0)] !== 1 || mayEnd[text.charCodeAt(length - 1)] !== 1))
		return false;
	return isMissing.has(text.trim().toLowerCase());
}
