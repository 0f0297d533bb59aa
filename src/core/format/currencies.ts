import { OperatorError } from '../errors.ts';

/**
 * Currencies by the decimals of their minor unit: ISO 4217, list one, as of 25 June 2024, without metals, units of account and codes for
 * testing, and with amendment 176 (XCG, 2025). Currencies that have been withdrawn since stay, because amounts in them stay.
 * `Intl` has other decimals for some, such as HUF: it follows what people write, not what banks and payment providers exchange.
 */
const codesByDecimals: readonly (readonly [decimals: number, codes: string])[] = [
	[0, 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'],
	[
		2,
		`AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF CHW CNY COP COU
CRC CUC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS
KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN
PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH
USD USN UYU UZS VED VES WST XCD XCG YER ZAR ZMW ZWG`,
	],
	[3, 'BHD IQD JOD KWD LYD OMR TND'],
	[4, 'CLF UYW'],
];

const decimalsByCode = new Map(
	codesByDecimals.flatMap(([decimals, codes]) => codes.split(/\s/).map((code) => [code, decimals] as const)),
);

/** How many decimals of the currency its minor unit is: 2 for GBP, 0 for JPY. Accounts of earlier versions may have one that is no more. */
export function decimalsOf(currency: string): number {
	return decimalsByCode.get(currency) ?? 2;
}

/** Whether it is the code of a currency. */
export function isCurrency(code: string): boolean {
	return decimalsByCode.has(code);
}

/** @throws OperatorError where there is no such currency */
export function currencyCode(value: string): string {
	if (!isCurrency(value))
		throw new OperatorError('It must be the code of a currency in capitals, such as GBP or EUR.');
	return value;
}

const fractions = ['', 'tenths', 'hundredths', 'thousandths', 'ten-thousandths'];

/** What people call the minor unit: pence, hundredths of EUR, JPY. */
export function minorUnitOf(currency: string): string {
	const decimals = decimalsOf(currency);
	if (currency === 'GBP') return 'pence';
	return decimals === 0 ? currency : `${fractions[decimals]} of ${currency}`;
}
