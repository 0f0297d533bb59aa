import { isCurrency } from '../../core/format/currencies.ts';

/** Finds the column that names the currency of each row. */
export function currencyColumn(names: readonly string[]): string | undefined {
	return names.find((name) => /^(?:currency(?:[ _-]?code)?|ccy)$/i.test(name));
}

/** The currency that a cell names; undefined where it names none. */
export function currencyIn(cell: unknown): string | undefined {
	const code = typeof cell === 'string' ? cell.trim().toUpperCase() : '';
	return isCurrency(code) ? code : undefined;
}

/** What is wrong with fields that name another currency than the account's, which would otherwise be ignored. */
export function otherCurrency(fields: object, currency: string | undefined): string[] {
	const column = currencyColumn(Object.keys(fields));
	const named = column && currencyIn((fields as Readonly<Record<string, unknown>>)[column]);
	if (!named || currency === undefined || named === currency) return [];
	return [`${column} must be ${currency}, what the account's amounts are in, not ${named}`];
}

/** The currency that a heading names, in brackets or at its end: Total (EUR), total_EUR, EUR. */
export function currencyInHeading(heading: string): string | undefined {
	const [, code] = /(?:^|[\s_([])([A-Z]{3})[)\]]?$/.exec(heading) ?? [];
	return currencyIn(code);
}

/** Whether a heading says that amounts are in minor units: amount_cents, Total in pence. */
export function isHeadingOfMinorUnits(heading: string): boolean {
	return /(?:^|[\s_([])(?:pence|cents|minor)(?:$|[\s_)\]])/i.test(heading);
}
