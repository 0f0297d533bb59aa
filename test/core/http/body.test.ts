import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ApiError } from '../../../src/core/errors.ts';
import { bodyLimitBytes, checkBodyHeaders, parseJson } from '../../../src/core/http/body.ts';
import { codePoint } from '../../code-point.ts';
import { examples } from '../../quick.ts';

test('parses whatever JSON.stringify writes', () => {
	fc.assert(
		fc.property(fc.jsonValue({ stringUnit: codePoint }), (value) => {
			const text = JSON.stringify(value);
			assert.equal(JSON.stringify(parseJson(Buffer.from(text))), text);
		}),
	);
});

test('a byte order mark is skipped, once', () => {
	fc.assert(
		fc.property(fc.jsonValue(), (value) => {
			const text = JSON.stringify(value);
			assert.equal(JSON.stringify(parseJson(Buffer.from(`\ufeff${text}`))), text);
			assert.throws(() => parseJson(Buffer.from(`\ufeff\ufeff${text}`)), { code: 'malformed_json' });
		}),
		{ numRuns: examples(20) },
	);
});

/** A letter of the marker in an error's text would be a piece of the body. */
const marker = 'ΨΩΞΠ';

test('an error does not quote the body', () => {
	const value = fc
		.jsonValue({ maxDepth: 2 })
		.map((inner) => ({ [marker]: [marker.repeat(5), inner, marker] }));
	fc.assert(
		fc.property(
			value,
			fc.nat(),
			fc.constantFrom(
				'',
				'"',
				'\\',
				'{',
				']',
				',',
				':',
				'\0',
				'\n',
				marker,
				'1',
				'-',
				'.',
				'e',
				'true',
				'\u2028',
			),
			(object, position, replacement) => {
				const text = JSON.stringify(object);
				const at = position % text.length;
				const damaged = Buffer.from(text.slice(0, at) + replacement + text.slice(at + 1));
				try {
					parseJson(damaged);
				} catch (error) {
					assert.ok(error instanceof ApiError);
					assert.equal(error.code, 'malformed_json');
					assert.match(error.detail as string, /^[\x20-\x7e]{1,200}$/);
				}
			},
		),
		{ numRuns: examples(1000) },
	);
});

test('any bytes are either parsed or refused', () => {
	fc.assert(
		fc.property(fc.uint8Array({ maxLength: 50 }), (bytes) => {
			try {
				parseJson(Buffer.from(bytes));
			} catch (error) {
				assert.ok(error instanceof ApiError);
				assert.equal(error.code, 'malformed_json');
			}
		}),
	);
});

test('an error says what is wrong and where', () => {
	const cases: [body: Buffer, detail: RegExp][] = [
		[Buffer.alloc(0), /^the body is empty$/],
		[Buffer.from([0xff]), /^the body is not UTF-8$/],
		[Buffer.from('{"a":1'), /position 6/],
		[Buffer.from('{"a":x}'), /^Unexpected token in JSON$/],
	];
	for (const [body, detail] of cases)
		assert.throws(
			() => parseJson(body),
			(error: ApiError) => error.code === 'malformed_json' && detail.test(error.detail as string),
		);
});

test('deep nesting does not overflow the stack', () => {
	const deep = '['.repeat(bodyLimitBytes / 2) + ']'.repeat(bodyLimitBytes / 2);
	assert.ok(Array.isArray(parseJson(Buffer.from(deep))));
	assert.throws(() => parseJson(Buffer.from('['.repeat(bodyLimitBytes))), { code: 'malformed_json' });
	const rounded = `${'['.repeat(bodyLimitBytes / 2)}1.0000000000000001${']'.repeat(bodyLimitBytes / 2)}`;
	assert.throws(() => parseJson(Buffer.from(rounded)), { detail: 'it is nested too deeply' });
});

test('headers are checked for size first, then media type, then compression', () => {
	const json = 'application/json';
	const large = String(bodyLimitBytes + 1);
	const refused = (headers: Record<string, string>) => {
		try {
			checkBodyHeaders(headers);
			return undefined;
		} catch (error) {
			return (error as ApiError).code;
		}
	};
	assert.equal(refused({ 'content-type': json }), undefined);
	assert.equal(refused({ 'content-type': json, 'content-length': String(bodyLimitBytes) }), undefined);
	assert.equal(refused({ 'content-type': 'text/plain', 'content-length': large }), 'payload_too_large');
	assert.equal(refused({ 'content-type': 'text/plain' }), 'unsupported_media_type');
	assert.equal(refused({}), 'unsupported_media_type');
	assert.equal(refused({ 'content-type': json, 'content-encoding': 'gzip' }), 'unsupported_media_type');
});
