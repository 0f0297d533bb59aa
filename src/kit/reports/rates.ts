import type { FlatRow } from './report.ts';

/** Stands beside every conversion rate above 100 %, which looks like a mistake. */
const aboveOne =
	'A conversion rate above 100 % means more subscriptions than people who arrived in the period: some people have several, or arrived earlier. If many share a customer id or transaction id that is only a placeholder, the report coverage names it.';

function isAboveOne({ conversionRate }: FlatRow): boolean {
	return typeof conversionRate === 'number' && conversionRate > 1;
}

/** The sentence, if one of the rows needs it. */
export function rateWarnings(rows: readonly FlatRow[]): string[] {
	return rows.some(isAboveOne) ? [aboveOne] : [];
}

/** Adds the sentence in a column of its own, for rows of files, which have nothing beside them. */
export function withRateWarnings(rows: readonly FlatRow[]): readonly FlatRow[] {
	if (!rows.some(isAboveOne)) return rows;
	return rows.map((row) => ({ ...row, warning: isAboveOne(row) ? aboveOne : null }));
}
