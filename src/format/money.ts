import { OperatorError } from '../errors.ts';

/** Shows an amount in minor units for people, for example -£1,234.56. */
export type ShowMoney = (minorUnits: number) => string;

/** @param currency as an ISO 4217 code */
export function moneyOf(currency: string): ShowMoney {
	const format = new Intl.NumberFormat('en-GB', { style: 'currency', currency });
	const scale = 10 ** (format.resolvedOptions().maximumFractionDigits ?? 2);
	return (minorUnits) => format.format(minorUnits / scale);
}

/** @throws OperatorError where there is no such currency */
export function currencyCode(value: string): string {
	if (!Intl.supportedValuesOf('currency').includes(value))
		throw new OperatorError('It must be the code of a currency, such as GBP or EUR.');
	return value;
}
