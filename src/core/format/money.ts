import { decimalsOf } from './currencies.ts';
import { withMinus } from './numbers.ts';

/** Shows an amount in minor units for people, for example −£1,234.56. */
export type ShowMoney = (minorUnits: number) => string;

/** @param currency as an ISO 4217 code */
export function moneyOf(currency: string): ShowMoney {
	const decimals = decimalsOf(currency);
	const format = new Intl.NumberFormat('en-GB', {
		style: 'currency',
		currency,
		minimumFractionDigits: decimals,
		maximumFractionDigits: decimals,
	});
	return (minorUnits) => withMinus(format.format(minorUnits / 10 ** decimals));
}
