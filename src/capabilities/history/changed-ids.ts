import { OperatorError } from '../../core/errors.ts';
import { counted } from '../../core/format/numbers.ts';

/** As Excel writes them in English, German, French, Spanish, Italian and Dutch. Capitals matter: MAR-26 was not made of a date. */
const months = [
	'Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec|Mrz|Mär|Mai|Okt|Dez',
	'janv|févr|mars|avr|mai|juin|juil|août|sept|oct|nov|déc',
	'ene|feb|mar|abr|may|jun|jul|ago|sep|dic|gen|apr|mag|giu|lug|set|ott|jan|mrt|mei|aug|okt|dec',
].join('|');

type Change = readonly [form: RegExp, what: string];

/** Of Excel in several languages, of cells that were too narrow, and of LibreOffice. */
const errorOfSpreadsheet: Change = [
	/^#[¡¿]?[\p{Lu}\d][\p{Lu}\d/._ ]*[!?]$|^#(?:N\/?[ABDV]|I\/T|GETTING_DATA)$|^#+$|^Err:\d{3}$/u,
	'an error of a spreadsheet, such as #N/A',
];

/**
 * What spreadsheets make of ids. Two ids that were rounded alike would count as one event; what such an id once was, nobody can tell.
 */
const changes: readonly Change[] = [
	[
		/^[+-]?\d(?:[.,]\d+)?[Ee][+-]\d{2,3}$|^[+-]?\d[.,]\d+E\d{1,3}$/,
		'a number that a spreadsheet has rounded, such as 1.23E+15',
	],
	errorOfSpreadsheet,
	[
		new RegExp(
			`^\\d{1,2}[-.] ?(?:${months})\\.?(?:[- ]\\d{2,4})?$|^(?:${months})\\.?[- ]\\d\\d$|^\\d{1,2}(?:([/.])\\d{1,2}\\1\\d{4}|/\\d{1,2}/\\d\\d)(?: \\d{1,2}:\\d\\d(?::\\d\\d)?)?$`,
		),
		'a date that a spreadsheet has made of it, such as 01-Mar',
	],
	[/^\d{1,3}(?:,\d{3})+$/, 'a number with separators of thousands, such as 1,234,567'],
	[/^\d+\.0$/, 'a whole number with a decimal, such as 1234.0'],
	[/^=".*"$|^'[\d=+@-]/, "a text as spreadsheets mark it, such as '0123"],
	[
		/^[\s\u200b-\u200d\u2060]|[\s\u200b-\u200d\u2060]$/,
		'a text with a space at its beginning or end, maybe one that does not show',
	],
];

export const asWrittenAdvice = '(or give --ids-as-written)';

/** What a spreadsheet has made of an id; undefined where nothing is known against it. It does not contain the id. */
export function changeOf(id: string): string | undefined {
	return changes.find(([form]) => form.test(id))?.[1];
}

/** Whether a text is an error of a spreadsheet. */
export function isErrorCell(text: string): boolean {
	return errorOfSpreadsheet[0].test(text);
}

/** Names the fields of a row whose ids a spreadsheet has changed, and labels that are errors. */
export function changedIds(
	fields: Readonly<Record<string, unknown>>,
	ids: readonly string[],
	labels: readonly string[] = [],
): string[] {
	const found = (names: readonly string[], look: (text: string) => string | undefined) =>
		names.flatMap((name) => {
			const value = fields[name];
			const what = typeof value === 'string' ? look(value) : undefined;
			return what === undefined ? [] : [`${name} is ${what} ${asWrittenAdvice}`];
		});
	return [
		...found(ids, changeOf),
		...found(labels, (text) => (isErrorCell(text) ? errorOfSpreadsheet[1] : undefined)),
	];
}

/** Digits that spreadsheets keep of a number. */
const keptDigits = 15;
/** Ids that end in so many zeros by chance, all together, are one in a thousand. */
const minLostDigits = 3;

interface Place {
	readonly line: number;
	readonly digits: number;
}

/** What the ids of a column that are numbers have in common. */
class NumericIds {
	/** The first with zeros in front. */
	#padded: Place | undefined;
	/** Whether all with zeros in front have as many digits. */
	#isUniform = true;
	#shortest: Place | undefined;
	#longest = 0;
	/** The first that is longer than the digits that are kept. */
	#long: Place | undefined;
	#areRounded = true;
	#useKeptDigits = false;
	#lostDigits = 0;

	add(id: string, line: number): void {
		const place = { line, digits: id.length };
		this.#longest = Math.max(this.#longest, id.length);
		if (id.length > 1 && id[0] === '0') {
			this.#padded ??= place;
			if (this.#padded.digits !== id.length) this.#isUniform = false;
		} else if (id.length < (this.#shortest?.digits ?? Number.POSITIVE_INFINITY)) this.#shortest = place;
		if (id.length <= keptDigits) return;
		this.#long ??= place;
		this.#lostDigits += id.length - keptDigits;
		if (!/^0+$/.test(id.slice(keptDigits))) this.#areRounded = false;
		// Ids that end in thousands, such as times in nanoseconds, end in zeros before, too.
		if (id.slice(keptDigits - 2, keptDigits) !== '00') this.#useKeptDigits = true;
	}

	/** What was lost, if anything. */
	get loss(): { readonly line: number; readonly what: string } | undefined {
		if (this.#long && this.#areRounded && this.#useKeptDigits && this.#lostDigits >= minLostDigits)
			return {
				line: this.#long.line,
				what: `has only zeros after ${keptDigits} digits, as all of its length in this column: a spreadsheet has rounded them`,
			};
		const [padded, shortest] = [this.#padded, this.#shortest];
		if (
			padded &&
			shortest &&
			this.#isUniform &&
			padded.digits === this.#longest &&
			shortest.digits < padded.digits
		)
			return {
				line: shortest.line,
				what: `has ${counted(shortest.digits, 'digit')}, where others have ${padded.digits} with zeros in front (line ${padded.line}): a spreadsheet may have removed them`,
			};
		return undefined;
	}
}

/** Finds ids whose column tells that a spreadsheet has changed them. */
export class IdColumns {
	readonly #columns = new Map<string, NumericIds>();

	/** @param fields those of a row that was read */
	addAll(fields: unknown, columns: readonly string[], line: number): void {
		for (const column of columns) {
			const id = (fields as Readonly<Record<string, unknown>>)[column];
			if (typeof id !== 'string' || !/^\d+$/.test(id)) continue;
			this.#columns.getOrInsertComputed(column, () => new NumericIds()).add(id, line);
		}
	}

	/** @throws OperatorError that names a line and the column */
	check(file: string): void {
		for (const [column, { loss }] of this.#columns)
			if (loss)
				throw new OperatorError(
					`${file}:${loss.line}: ${column} ${loss.what}. Export the column as text. If the ids are right as they are, give --ids-as-written.`,
				);
	}
}
