import { Type } from './type.ts';

export const textRule = 'a string of 1 to 255 characters, without control characters or lone surrogates';

/**
 * Without control characters and lone surrogates. With the `u` flag a surrogate pair is one character, so the class
 * matches only lone ones.
 */
export const plainText = '^[^\\u0000-\\u001f\\u007f-\\u009f\\ud800-\\udfff]*$';

export const textLimits = { minLength: 1, maxLength: 255, pattern: plainText };

/** A required field. */
export const text = (description: string, examples: string[]) =>
	Type.String({ ...textLimits, description, examples, 'x-must-be': textRule });

/** An optional field. Empty and null mean absent, because exports from spreadsheets contain them. */
export const optional = <Schema extends ReturnType<typeof Type.String> | ReturnType<typeof Type.Integer>>(
	schema: Schema,
	mustBe: string,
	options: { description: string; examples: unknown[] },
) => Type.Optional(Type.Union([schema, Type.Literal(''), Type.Null()], { ...options, 'x-must-be': mustBe }));
