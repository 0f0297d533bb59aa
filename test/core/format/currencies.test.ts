import assert from 'node:assert/strict';
import { test } from 'node:test';
import { currencyCode, decimalsOf, minorUnitOf } from '../../../src/core/format/currencies.ts';
import { moneyOf } from '../../../src/core/format/money.ts';

test('a currency is a code of ISO 4217, in capital letters', () => {
	for (const code of ['GBP', 'EUR', 'XCG', 'ZWG', 'BGN']) assert.equal(currencyCode(code), code);
	for (const code of ['GPB', 'gbp', '', 'XAU', 'XXX', 'XTS', 'DEM'])
		assert.throws(() => currencyCode(code), /code of a currency in capitals, such as GBP/, code);
});

test('decimals are those of ISO 4217, not those that people write', () => {
	const decimals = {
		GBP: 2,
		JPY: 0,
		KRW: 0,
		UGX: 0,
		ISK: 0,
		KWD: 3,
		IQD: 3,
		CLF: 4,
		HUF: 2,
		COP: 2,
		IDR: 2,
		PKR: 2,
		LBP: 2,
		MGA: 2,
	};
	for (const [code, expected] of Object.entries(decimals)) assert.equal(decimalsOf(code), expected, code);
	// An account of an earlier version may have one that is no more.
	assert.equal(decimalsOf('HRK'), 2);
});

test('amounts are shown with the decimals of their minor unit', () => {
	const shown = { GBP: '£1,234.56', JPY: 'JP¥123,456', KWD: 'KWD\u00a0123.456', HUF: 'HUF\u00a01,234.56' };
	for (const [code, expected] of Object.entries(shown)) assert.equal(moneyOf(code)(123_456), expected);
	const names = ['GBP', 'EUR', 'JPY', 'KWD', 'CLF'].map(minorUnitOf);
	assert.deepEqual(names, [
		'pence',
		'hundredths of EUR',
		'JPY',
		'thousandths of KWD',
		'ten-thousandths of CLF',
	]);
});
