import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
	AmountReader,
	type DecimalMark,
	Notation,
} from '../../../../src/capabilities/history/upload/amounts.ts';
import { decimalsOf } from '../../../../src/core/format/currencies.ts';
import { examples } from '../../../quick.ts';

const pounds = new AmountReader('GBP');

interface Style {
	readonly mark: DecimalMark;
	readonly group: string;
	readonly before: string;
	readonly behind: string;
	readonly minus: string;
	readonly zeros: number;
	readonly whole: boolean;
}

/** How an amount of minor units may be written. Digits only, so that nothing is computed. */
function written(minorUnits: bigint, decimals: number, style: Style): string {
	const digits = (minorUnits < 0n ? -minorUnits : minorUnits).toString().padStart(decimals + 1, '0');
	const [units, rest] = [digits.slice(0, digits.length - decimals), digits.slice(digits.length - decimals)];
	const whole = units.replaceAll(/\B(?=(\d{3})+$)/g, style.group);
	const fraction = (style.whole && /^0*$/.test(rest) ? '' : rest + '0'.repeat(style.zeros)) || '';
	const amount = `${style.before}${whole}${fraction && style.mark + fraction}${style.behind}`;
	if (minorUnits >= 0n) return amount;
	return style.minus === '()'
		? `(${amount})`
		: style.minus === 'behind'
			? `${amount}-`
			: `${style.minus}${amount}`;
}

test('every amount is read back in its notation, to the minor unit', () => {
	fc.assert(
		fc.property(
			fc.bigInt({ min: BigInt(Number.MIN_SAFE_INTEGER), max: BigInt(Number.MAX_SAFE_INTEGER) }),
			fc.constantFrom('GBP', 'EUR', 'JPY', 'KWD', 'CLF'),
			fc.constantFrom<DecimalMark>('.', ','),
			fc.record({
				group: fc.constantFrom('', 'other', ' ', '\u00a0', '\u202f', "'", '’'),
				place: fc.constantFrom('', 'before', 'before ', 'behind', ' behind'),
				minus: fc.constantFrom('-', '−', '- ', '()', 'behind'),
				zeros: fc.integer({ min: 0, max: 3 }),
				whole: fc.boolean(),
			}),
			(minorUnits, currency, mark, { group, place, ...style }) => {
				const name = place.replace(/before|behind/, currency);
				const text = written(minorUnits, decimalsOf(currency), {
					...style,
					mark,
					group: group === 'other' ? (mark === '.' ? ',' : '.') : group,
					before: place.startsWith('before') ? name : '',
					behind: place.endsWith('behind') ? name : '',
				});
				assert.equal(new AmountReader(currency).read(text, mark), Number(minorUnits), text);
			},
		),
		{ numRuns: examples(2000) },
	);
});

test('numbers of JSON are read as they are written in decimals, not as they are stored in binary', () => {
	for (let pence = -20_000; pence <= 20_000; pence++) {
		const digits = String(Math.abs(pence)).padStart(3, '0');
		const number = Number(`${pence < 0 ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`);
		assert.equal(pounds.read(number, ','), pence);
	}
});

test('what people write is minor units, and what is unclear is nothing', () => {
	const known: readonly [unknown, number][] = [
		['4.99', 499],
		['£5', 500],
		['1,234.56', 123_456],
		[' £1,234.5 ', 123_450],
		['£-5', -500],
		['-£5.00', -500],
		['(4.99)', -499],
		['£(4.99)', -499],
		['(£4.99)', -499],
		['4.99-', -499],
		['£4.99 GBP', 499],
		['GBP 4.99', 499],
		['+5', 500],
		['.99', 99],
		['0', 0],
		['-0.00', 0],
		[5, 500],
		['4.9900', 499],
		["1'234.50", 123_450],
		['12,34,567.50', 123_456_750],
		['90071992547409.91', Number.MAX_SAFE_INTEGER],
	];
	for (const [value, pence] of known) assert.ok(Object.is(pounds.read(value, '.'), pence), String(value));
	const unclear = [
		...['', ' ', '£', '.', '-', '4.', '4.995', '4,99', '1.234,56', '12,34', '1,2345', '1,234,56', '0,125'],
		...['--5', '-£-5', '-(5)', '(5', '5)', '((5))', '-5-', '1,234 567', '1 2', '#REF!', '1.23E+03'],
		...['$5', '€5', '5 EUR', '5 kr', '1e3', 'NaN', '٤', '90071992547409.92', '5 %'],
		...[4.995, 1e21, Number.NaN, true, null, {}, ['5']],
	];
	for (const value of unclear) assert.equal(pounds.read(value, '.'), null, JSON.stringify(value));
});

test('an amount is scaled by its currency, and named by its code or its symbols', () => {
	const cases: readonly [string, string, number | null][] = [
		['JPY', '980', 980],
		['JPY', '¥1,980', 1980],
		['JPY', '980.00', 980],
		['JPY', '980.5', null],
		['KWD', '4.990', 4990],
		['KWD', '4.9', 4900],
		['KWD', '4.9905', null],
		['HUF', '980 Ft', 98_000],
		['HUF', '980 HUF', 98_000],
		['USD', '$5', 500],
		['USD', 'US$5', 500],
		['USD', 'CA$5', null],
		['CAD', '$5', 500],
		['SEK', '5 kr', 500],
		['EUR', '€5', 500],
	];
	for (const [currency, text, expected] of cases)
		assert.equal(new AmountReader(currency).read(text, '.'), expected, `${currency} ${text}`);
	assert.equal(new AmountReader('EUR').read('1.234,50 €', ','), 123_450);
});

function decide(currency: string, ...amounts: unknown[]): string {
	const notation = new Notation(new AmountReader(currency));
	for (const [index, amount] of amounts.entries()) notation.add(amount, index + 2);
	try {
		return notation.decide('events.csv', 'Total');
	} catch (error) {
		return (error as Error).message;
	}
}

test('a column tells what its decimals begin with', () => {
	assert.equal(decide('GBP', '1,234', '4.99', '5'), '.');
	assert.equal(decide('GBP', '1,234', '4,99', '5'), ',');
	assert.equal(decide('EUR', '-236,48', '1.488,69', '-1.000'), ',');
	assert.equal(decide('GBP', '1,234,567', '1,000'), '.');
	assert.equal(decide('INR', '1,23,456', '1,000'), '.');
	assert.equal(decide('KWD', '1.250', '0.750'), '.');
	assert.equal(decide('KWD', '1,250', '1250,5'), ',');
	// Nothing to tell, and nothing that depends on it: what is no amount, and numbers of JSON.
	assert.equal(decide('GBP', '5', '', null, 4.99, '1 234', 'free'), '.');
});

test('a column that does not tell, or tells two, is refused with its line', () => {
	for (const amount of ['1,234', '£1.000', '-12.500', '(1,000)'])
		assert.match(
			decide('GBP', '5', amount),
			/^events\.csv:3: Total may have thousands or three decimals/,
			amount,
		);
	assert.match(
		decide('GBP', '4.99', '5', '4,99'),
		/^events\.csv: Total has a decimal point in line 2, and a decimal comma in line 4\./,
	);
});

test('no cell takes long to read', { timeout: 2000 }, () => {
	for (const text of [
		`5${' '.repeat(1e6)}x`,
		`${'1,'.repeat(5e5)}`,
		`5${' '.repeat(60)}x`,
		`${' '.repeat(1e6)}5`,
	])
		assert.ok(pounds.read(text, '.') === null || pounds.read(text, '.') === 500);
});
