import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { compileCheck, type Schema, Type } from '../../../src/core/schema/type.ts';
import { codePoint } from '../../code-point.ts';

const ajv = new Ajv2020({ strict: false });

/** One schema of each kind, nested as requests are. */
const schemas: readonly Schema[] = [
	Type.String({ minLength: 1, maxLength: 3 }),
	Type.String({ pattern: '^[^\\u0000-\\u001f\\ud800-\\udfff]*$' }),
	Type.Integer({ minimum: -2, maximum: 5 }),
	Type.Number(),
	Type.Boolean(),
	Type.Null(),
	Type.Unknown(),
	Type.Literal(''),
	Type.Union([Type.String(), Type.Null()]),
	Type.Array(Type.Integer(), { minItems: 1, maxItems: 2 }),
	Type.Object({ a: Type.String(), b: Type.Optional(Type.Array(Type.Object({ toString: Type.Integer() }))) }),
];
const leaf = fc.oneof(
	fc.constantFrom('', 'a', '🙂🙂🙂', '\ud800', 'a\u0001', 1.5, 5, 6, -2, null, true),
	fc.string({ unit: codePoint, maxLength: 5 }),
	fc.integer(),
);
const value = fc.letrec((tie) => ({
	value: fc.oneof(
		leaf,
		fc.array(tie('value'), { maxLength: 3 }),
		fc.dictionary(fc.constantFrom('a', 'b', 'toString', 'c'), tie('value'), { noNullPrototype: true }),
	),
})).value;

test('a check accepts what JSON Schema accepts', () => {
	for (const schema of schemas) {
		const [check, standard] = [compileCheck(schema), ajv.compile(schema)];
		fc.assert(fc.property(value, (given) => check(given) === standard(given)));
	}
});
