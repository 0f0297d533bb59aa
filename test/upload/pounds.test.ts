import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { penceOf } from '../../src/upload/pounds.ts';
import { examples } from '../quick.ts';

/** How an amount of pence may be written in pounds. Digits only, so that nothing is computed. */
function written(
	pence: bigint,
	style: { symbol: string; grouped: boolean; minus: string; zeros: number; whole: boolean },
): string {
	const digits = (pence < 0n ? -pence : pence).toString().padStart(3, '0');
	const [pounds, rest] = [digits.slice(0, -2), digits.slice(-2)];
	const whole = style.grouped ? pounds.replaceAll(/\B(?=(\d{3})+$)/g, ',') : pounds;
	const fraction = style.whole && rest === '00' ? '' : `.${rest}${'0'.repeat(style.zeros)}`;
	const amount = `${style.symbol}${whole}${fraction}`;
	return pence < 0n ? `${style.minus}${amount}` : amount;
}

test('every amount of pence is read back from pounds, to the penny', () => {
	fc.assert(
		fc.property(
			fc.bigInt({ min: BigInt(Number.MIN_SAFE_INTEGER), max: BigInt(Number.MAX_SAFE_INTEGER) }),
			fc.record({
				symbol: fc.constantFrom('', '£', '£ '),
				grouped: fc.boolean(),
				minus: fc.constantFrom('-', '−', '- '),
				zeros: fc.integer({ min: 0, max: 3 }),
				whole: fc.boolean(),
			}),
			(pence, style) => assert.equal(penceOf(written(pence, style)), Number(pence), written(pence, style)),
		),
		{ numRuns: examples(1000) },
	);
});

test('numbers are read as they are written in decimals, not as they are stored in binary', () => {
	for (let pence = -20_000; pence <= 20_000; pence++) {
		const digits = String(Math.abs(pence)).padStart(3, '0');
		const pounds = Number(`${pence < 0 ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`);
		assert.equal(penceOf(pounds), pence);
	}
});

test('what people write is pence, and what is unclear is nothing', () => {
	const known: readonly [unknown, number][] = [
		['4.99', 499],
		['£5', 500],
		['1,234.56', 123_456],
		[' £1,234.5 ', 123_450],
		['£-5', -500],
		['-£5.00', -500],
		['+5', 500],
		['.99', 99],
		['0', 0],
		['-0.00', 0],
		[5, 500],
		['4.9900', 499],
		['90071992547409.91', Number.MAX_SAFE_INTEGER],
	];
	for (const [value, pence] of known) assert.ok(Object.is(penceOf(value), pence), String(value));
	const unclear = [
		...[
			'',
			' ',
			'£',
			'.',
			'-',
			'4.',
			'4.995',
			'4,99',
			'1.234,56',
			'12,34',
			'1,2345',
			'1,234,56',
			'--5',
			'-£-5',
		],
		...[
			'5 GBP',
			'$5',
			'1e3',
			'NaN',
			'٤',
			'90071992547409.92',
			4.995,
			1e21,
			Number.NaN,
			true,
			null,
			{},
			['5'],
		],
	];
	for (const value of unclear) assert.equal(penceOf(value), null, JSON.stringify(value));
});
