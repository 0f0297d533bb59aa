/**
 * Parses JSON. A number that a double cannot hold as it is written becomes `NaN`, which no schema accepts: 1.0000000000000001 would
 * otherwise be an integer. Whole numbers are left to their bounds.
 * @throws SyntaxError as `JSON.parse` does, RangeError where what has such a number is nested too deeply
 */
export function parseExactJson(text: string): unknown {
	return hasRoundedNumber(text) ? (parseWithSource(text, withoutRounded) as unknown) : JSON.parse(text);
}

/** What a reviver learns of a value that is no object. The library's types do not have it yet. */
interface Source {
	readonly source?: string;
}
const parseWithSource = JSON.parse as (
	text: string,
	reviver: (name: string, value: unknown, context: Source) => unknown,
) => unknown;

function withoutRounded(_name: string, value: unknown, { source }: Source): unknown {
	return typeof value === 'number' && source !== undefined && !isExact(source) ? Number.NaN : value;
}

/** What only numbers that are no integers by their digits have. Without it, a number is as it is written, or too large. */
const marks = ['.', 'e-', 'E-'];

/**
 * Looks only at the places of marks, because a look at each character would cost half of the parsing. It may find a number in
 * a text of the JSON, too.
 */
function hasRoundedNumber(text: string): boolean {
	for (const mark of marks)
		for (let at = text.indexOf(mark); at >= 0; at = text.indexOf(mark, at + 1)) {
			const from = startOfNumber(text, at);
			if (from < 0) continue;
			number.lastIndex = from;
			const [found] = number.exec(text) ?? [];
			if (found !== undefined && !isExact(found)) return true;
		}
	return false;
}

const number = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const beforeNumbers = ' \t\n\r:,[';

/** Where the number begins whose digits end before a place; -1 if none can. */
function startOfNumber(text: string, end: number): number {
	let from = end;
	while (from > 0 && isDigit(text.charCodeAt(from - 1))) from--;
	if (from === end) return -1;
	if (text[from - 1] === '-') from--;
	return from === 0 || beforeNumbers.includes(text[from - 1] as string) ? from : -1;
}

function isDigit(code: number): boolean {
	return code >= 0x30 && code <= 0x39;
}

/** Whether a double has the very value of this text, of which its shortest text is the measure: 4.99 has, 4.9900000000000001 has not. */
function isExact(text: string): boolean {
	return decimalOf(text) === decimalOf(String(Number(text)));
}

/** Significant digits and exponent, so that equal numbers have equal texts. */
function decimalOf(text: string): string {
	const [, sign = '', whole = '', fraction = '', exponent = '0'] =
		/^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
	const digits = whole + fraction;
	let [from, to] = [0, digits.length];
	while (from < to && digits[from] === '0') from++;
	while (to > from && digits[to - 1] === '0') to--;
	if (from === to) return '0';
	return `${sign}${digits.slice(from, to)}e${Number(exponent) - fraction.length + digits.length - to}`;
}
