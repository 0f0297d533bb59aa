import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseExactJson } from '../../../src/core/format/exact-json.ts';
import { codePoint } from '../../code-point.ts';
import { examples } from '../../quick.ts';

test('whatever JSON.stringify writes is parsed as JSON.parse does', () => {
	fc.assert(
		fc.property(fc.jsonValue({ stringUnit: codePoint }), fc.constantFrom(undefined, 1), (value, indent) => {
			const text = JSON.stringify(value, null, indent);
			assert.deepEqual(parseExactJson(text), JSON.parse(text));
		}),
		{ numRuns: examples(500) },
	);
});

test('a number is itself or NaN, as its digits tell', () => {
	const exact = [
		'1',
		'1.0',
		'-0',
		'-0.0',
		'0.000',
		'10e-1',
		'1.5e1',
		'4.99',
		'4.990',
		'-4.99e+2',
		'1e21',
		'5e-324',
	];
	for (const text of exact) assert.ok(Object.is(parseExactJson(text), Number(text)), text);
	const rounded = [
		...['1.0000000000000001', '-499.00000000000000001', '9007199254740991.4', '1e-400', '-1E-999999999'],
		...['10000000000000000001e-19', '0.1000000000000000055511151231257827', `0.${'0'.repeat(400)}1`],
	];
	for (const text of rounded) assert.ok(Number.isNaN(parseExactJson(text)), text);
});

test('a number keeps its value or is found, wherever it is', () => {
	const digits = (min: number, max: number) =>
		fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: min, maxLength: max });
	const written = fc
		.tuple(
			fc.constantFrom('', '-'),
			fc.oneof(
				fc.constant('0'),
				fc.tuple(fc.constantFrom(...'123456789'), digits(0, 18)).map((all) => all.join('')),
			),
			fc.oneof(
				fc.constant(''),
				digits(1, 25).map((all) => `.${all}`),
			),
			fc.oneof(
				fc.constant(''),
				fc.integer({ min: -30, max: 5 }).map((power) => `e${power}`),
			),
		)
		.map((parts) => parts.join(''));
	const around = fc.constantFrom<[string, (value: unknown) => unknown]>(
		['[NUMBER]', (value) => (value as unknown[])[0]],
		['[1 ,\n-2,NUMBER ]', (value) => (value as unknown[])[2]],
		[
			'{"a.1e-2":"x, 1.00000000000000000001","b": {"c":NUMBER}}',
			(value) => (value as { b: { c: unknown } }).b.c,
		],
	);
	fc.assert(
		fc.property(written, around, (text, [frame, take]) => {
			const value = take(parseExactJson(frame.replace('NUMBER', text)));
			const isInteger = isIntegerByDigits(text);
			// An integer of so few digits is exact; what is none never becomes one.
			if (isInteger && Math.abs(Number(text)) <= Number.MAX_SAFE_INTEGER)
				assert.equal(value, Number(text), text);
			if (!isInteger) assert.ok(!Number.isInteger(value), text);
		}),
		{ numRuns: examples(2000) },
	);
});

/** Decided without floating point. */
function isIntegerByDigits(text: string): boolean {
	const [, whole = '', fraction = '', exponent = '0'] = /^-?(\d+)(?:\.(\d+))?(?:e(-?\d+))?$/.exec(text) ?? [];
	const kept = whole.length + Number(exponent);
	return /^0*$/.test((whole + fraction).slice(Math.max(0, kept)));
}

test('no JSON takes long to look at', { timeout: 5000 }, () => {
	const size = 256 * 1024;
	const hostile = [
		`"${'1.'.repeat(size / 2)}"`,
		`"${'1e-'.repeat(size / 3)}"`,
		`[${'1.5,'.repeat(size / 4)}1]`,
		`1.${'0'.repeat(size)}1`,
		`1${'0'.repeat(size)}e-${size}`,
		`"${' 1'.repeat(size / 4)}${', 1.'.repeat(size / 8)}"`,
	];
	for (const text of hostile) parseExactJson(text);
	assert.throws(() => parseExactJson(`${'['.repeat(size)}1.0000000000000001${']'.repeat(size)}`), RangeError);
});
