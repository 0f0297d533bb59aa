import { OperatorError } from '../../../core/errors.ts';
import { decimalsOf } from '../../../core/format/currencies.ts';

/** What separates whole units from decimals. */
export type DecimalMark = '.' | ',';

export const decimalMarks = { point: '.', comma: ',' } as const satisfies Record<string, DecimalMark>;

/** Longer than any amount. The expression takes long for long texts. */
const maxCharacters = 64;
const space = '\\s*';
const sign = '([-+−])?';
/** Other separators of thousands than the mark that decimals do not have. */
const groupMarks = " \u00a0\u202f'’";

/** An amount without its currency, digits with their separators. */
interface WrittenAmount {
	readonly isNegative: boolean;
	readonly digits: string;
}

/** Reads amounts as people write them in one currency: -1,234.56, £4.99, (4.99), 1.234,56 EUR. Nothing is rounded. */
export class AmountReader {
	readonly currency: string;
	readonly #decimals: number;
	readonly #form: RegExp;

	/** @param currency as an ISO 4217 code */
	constructor(currency: string) {
		this.currency = currency;
		this.#decimals = decimalsOf(currency);
		const name = `(?:${namesOf(currency).map(RegExp.escape).join('|')})?`;
		this.#form = new RegExp(
			`^(\\()?${space}${sign}${space}${name}${space}${sign}${space}(\\()?${space}([\\d.,][\\d.,${groupMarks}]*?)${space}(\\))?${space}${name}${space}([-−])?${space}(\\))?$`,
			'u',
		);
	}

	/**
	 * The amount in minor units.
	 * @returns null if it is none in this notation, or has a part of a minor unit
	 */
	read(value: unknown, mark: DecimalMark): number | null {
		// A number of JSON has a point, whatever the texts have. One that lost digits is NaN.
		if (typeof value === 'number') return this.#scaled(this.#parse(String(value)), '.');
		return typeof value === 'string' ? this.#scaled(this.#parse(value), mark) : null;
	}

	/**
	 * Which mark the decimals of an amount have, and so those of its column.
	 * @returns unclear where what separates thousands may separate decimals, as in 1,234; undefined where there is neither
	 */
	markOf(value: unknown): DecimalMark | 'unclear' | undefined {
		const { digits } = (typeof value === 'string' && this.#parse(value)) || {};
		if (digits === undefined || !/[.,]/.test(digits)) return undefined;
		const [mark, other] = Object.values(decimalMarks).filter((each) => partsOf(digits, each) !== null);
		return other === undefined ? mark : 'unclear';
	}

	/** What is right: an amount of GBP with at most 2 decimals, for example 4.99. */
	rule(mark: DecimalMark): string {
		const example = (4.99).toFixed(this.#decimals).replace('.', mark);
		const whole = this.#decimals === 0 ? 'without decimals' : `with at most ${this.#decimals} decimals`;
		return `an amount of ${this.currency} ${whole}, for example ${this.#decimals === 0 ? '499' : example}`;
	}

	/** Sign and digits, with their separators; undefined if it is no amount of this currency. */
	#parse(text: string): WrittenAmount | undefined {
		const trimmed = text.trim();
		if (trimmed.length > maxCharacters) return undefined;
		const [, open, before, after, inner, digits, innerClose, behind, close] = this.#form.exec(trimmed) ?? [];
		const given = (...parts: readonly (string | undefined)[]) => parts.filter((part) => part !== undefined);
		const [opened, closed] = [given(open, inner), given(innerClose, close)];
		const signs = [...given(before, after, behind), ...opened];
		if (digits === undefined || opened.length !== closed.length || signs.length > 1) return undefined;
		return { isNegative: signs.length === 1 && signs[0] !== '+', digits };
	}

	#scaled(parsed: WrittenAmount | undefined, mark: DecimalMark): number | null {
		const parts = parsed && partsOf(parsed.digits, mark);
		if (!parsed || !parts) return null;
		const { whole, fraction } = parts;
		if (/[^0]/.test(fraction.slice(this.#decimals))) return null;
		const total = Number(whole + fraction.slice(0, this.#decimals).padEnd(this.#decimals, '0'));
		if (!Number.isSafeInteger(total)) return null;
		return parsed.isNegative ? 0 - total : total;
	}
}

/** How people write the currency: its code, and its symbols in English. */
function namesOf(currency: string): string[] {
	const symbols = (['symbol', 'narrowSymbol'] as const).flatMap((currencyDisplay) =>
		new Intl.NumberFormat('en-GB', { style: 'currency', currency, currencyDisplay })
			.formatToParts(0)
			.filter(({ type }) => type === 'currency')
			.map(({ value }) => value),
	);
	// Longest first, so that no name hides another.
	return [...new Set([currency, ...symbols])].sort((a, b) => b.length - a.length);
}

/** The digits before and after the mark; null if they are not written so. Thousands are separated by one kind of separator, or none. */
function partsOf(digits: string, mark: DecimalMark): { whole: string; fraction: string } | null {
	const [whole = '', fraction, ...others] = digits.split(mark);
	if (others.length > 0 || (fraction !== undefined && !/^\d+$/.test(fraction))) return null;
	if (whole === '' && fraction === undefined) return null;
	const group = /\D/.exec(whole)?.[0];
	if (group === undefined) return { whole, fraction: fraction ?? '' };
	const [first = '', ...groups] = whole.split(group);
	const isGrouped = /^\d{1,3}$/.test(first) && groups.every((each) => /^\d{3}$/.test(each));
	// In India, 12,34,567 is 1,234,567.
	const isIndian = /^\d{1,2}$/.test(first) && /^(?:\d{2},)+\d{3}$/.test(groups.join());
	// 0.125 has decimals, because no number begins with an empty thousand.
	return (isGrouped || isIndian) && first !== '0'
		? { whole: first + groups.join(''), fraction: fraction ?? '' }
		: null;
}

/** Learns from the amounts of a column which mark its decimals have. */
export class Notation {
	readonly #amounts: AmountReader;
	/** Lines of the first amounts that can be written with one mark only. */
	readonly #only: Partial<Record<DecimalMark, number>> = {};
	#unclear: number | undefined;

	constructor(amounts: AmountReader) {
		this.#amounts = amounts;
	}

	add(value: unknown, line: number): void {
		const mark = this.#amounts.markOf(value);
		if (mark === 'unclear') this.#unclear ??= line;
		else if (mark !== undefined) this.#only[mark] ??= line;
	}

	/** @throws OperatorError if the column does not tell, or tells two */
	decide(file: string, column: string): DecimalMark {
		const { '.': point, ',': comma } = this.#only;
		if (point !== undefined && comma !== undefined)
			throw new OperatorError(
				`${file}: ${column} has a decimal point in line ${point}, and a decimal comma in line ${comma}. Write all amounts in one way, or say with --decimal point or --decimal comma which lines are right.`,
			);
		if (point === undefined && comma === undefined && this.#unclear !== undefined)
			throw new OperatorError(
				`${file}:${this.#unclear}: ${column} may have thousands or three decimals, and no other line tells. Say which with --decimal point (1,234 is a thousand and more) or --decimal comma (1.234 is).`,
			);
		return comma === undefined ? '.' : ',';
	}
}
