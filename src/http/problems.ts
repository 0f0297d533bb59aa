import type { TObject, TSchema } from 'typebox';
import { Compile } from 'typebox/compile';

/** A property's schema, with a text for what it must be. */
type FieldSchema = TSchema & { 'x-must-be': string };

interface Field {
	readonly name: string;
	readonly required: boolean;
	readonly mustBe: string;
	readonly isValid: (value: unknown) => boolean;
}

/** Names everything that is wrong with the properties of an object, in the words of its schema. */
export type FindProblems = (value: unknown, path: string) => string[];

/**
 * Compiles an object's schema into a function that names every property that is missing or wrong:
 * `data[3].tid is required`. Every property carries what it must be in `x-must-be`. A value that is no object is one
 * problem.
 */
export function compileProblems(schema: TObject): FindProblems {
	const required: readonly string[] = schema.required ?? [];
	const fields: Field[] = Object.entries(schema.properties).map(([name, property]) => {
		const check = Compile(property);
		return {
			name,
			required: required.includes(name),
			mustBe: (property as FieldSchema)['x-must-be'],
			isValid: (value) => check.Check(value),
		};
	});
	return (value, path) => {
		if (typeof value !== 'object' || value === null || Array.isArray(value))
			return [`${path || 'the body'} must be an object`];
		const prefix = path ? `${path}.` : '';
		const problems: string[] = [];
		for (const field of fields) {
			const present = Object.hasOwn(value, field.name);
			if (present && !field.isValid((value as Record<string, unknown>)[field.name]))
				problems.push(`${prefix}${field.name} must be ${field.mustBe}`);
			else if (!present && field.required) problems.push(`${prefix}${field.name} is required`);
		}
		return problems;
	};
}

const longestText = 2000;

/** One text of all problems; where it would be longer than 2,000 characters, it ends in "and N more". */
export function describeProblems(problems: readonly string[]): string {
	const all = problems.join('; ');
	if (all.length <= longestText) return all;
	let text = problems[0] as string;
	let told = 1;
	for (const problem of problems.slice(1)) {
		const longer = `${text}; ${problem}`;
		if (longer.length + `; and ${problems.length} more`.length > longestText) break;
		text = longer;
		told++;
	}
	return `${text}; and ${problems.length - told} more`;
}
