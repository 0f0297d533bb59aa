import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { compileProblems, describeProblems } from '../../../src/core/schema/problems.ts';
import { Type } from '../../../src/core/schema/type.ts';

const schema = Type.Object({
	name: Type.String({ minLength: 1, 'x-must-be': 'a name' }),
	count: Type.Optional(Type.Integer({ 'x-must-be': 'a number' })),
	constructor: Type.Optional(Type.Boolean({ 'x-must-be': 'a boolean' })),
});
const problems = compileProblems(schema);

test('a valid object has no problems', () => {
	assert.deepEqual(problems({ name: 'x' }, 'data[0]'), []);
	assert.deepEqual(problems({ name: 'x', count: 1, constructor: true, unknown: {} }, 'data[0]'), []);
});

test('names every missing or invalid property, in the order of the schema', () => {
	assert.deepEqual(problems({ constructor: 1, count: 'x' }, 'data[3]'), [
		'data[3].name is required',
		'data[3].count must be a number',
		'data[3].constructor must be a boolean',
	]);
	assert.deepEqual(problems({ name: '' }, 'data[3]'), ['data[3].name must be a name']);
});

test('without a path, problems have no prefix', () => {
	assert.deepEqual(problems({ count: null }, ''), ['name is required', 'count must be a number']);
});

test('a value that is not an object is one problem', () => {
	for (const value of [null, undefined, 1, 'x', true, [], [{ name: 'x' }]]) {
		assert.deepEqual(problems(value, 'data[1]'), ['data[1] must be an object']);
		assert.deepEqual(problems(value, ''), ['the body must be an object']);
	}
});

test('inherited properties count as missing', () => {
	assert.deepEqual(problems(Object.create({ name: 'x' }), ''), ['name is required']);
});

/** Problems as they are: none is longer than 200 characters, none has a semicolon. */
const problemArbitrary = fc
	.string({ minLength: 1, maxLength: 200, size: 'max' })
	.map((text) => text.replaceAll(';', ','));

test('describes as many problems as fit into 2,000 characters, in order, and how many more there are', () => {
	fc.assert(
		fc.property(fc.array(problemArbitrary, { minLength: 1, maxLength: 60, size: 'max' }), (all) => {
			const text = describeProblems(all);
			assert.ok(text.length <= 2000);
			const complete = all.join('; ');
			if (complete.length <= 2000) {
				assert.equal(text, complete);
				return;
			}
			const end = /; and (\d+) more$/.exec(text);
			assert.ok(end);
			const told = all.length - Number(end[1]);
			assert.equal(text, `${all.slice(0, told).join('; ')}${end[0]}`);
			assert.ok(told >= 1 && told < all.length);
			// One more would not have fitted, at least not with the longest number.
			assert.ok(`${all.slice(0, told + 1).join('; ')}; and ${all.length} more`.length > 2000);
		}),
	);
});

test('exactly 2,000 characters are shown in full', () => {
	assert.equal(describeProblems(['x'.repeat(999), 'y'.repeat(999)]).length, 2000);
	assert.equal(describeProblems(['x'.repeat(999), 'y'.repeat(1000)]), `${'x'.repeat(999)}; and 1 more`);
});
