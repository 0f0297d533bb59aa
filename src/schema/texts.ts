import Type from 'typebox';

export const textRule = 'a string of 1 to 255 characters, without control characters or lone surrogates';

/** With the `u` flag a pair of surrogates is one character, so the two classes match lone ones only. */
const plainText = '^[^\\u0000-\\u001f\\u007f-\\u009f\\ud800-\\udfff]*$';

export const textLimits = { minLength: 1, maxLength: 255, pattern: plainText };

/** A field that must be there. */
export const text = (description: string, examples: string[]) =>
	Type.String({ ...textLimits, description, examples, 'x-must-be': textRule });

/** A field that may be left out. Empty and null stand for that, too, as clients that export from spreadsheets send them. */
export const optional = <Schema extends ReturnType<typeof Type.String> | ReturnType<typeof Type.Integer>>(
	schema: Schema,
	mustBe: string,
	options: { description: string; examples: unknown[] },
) => Type.Optional(Type.Union([schema, Type.Literal(''), Type.Null()], { ...options, 'x-must-be': mustBe }));
