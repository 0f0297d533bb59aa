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
const separator = '; ';

/**
 * One text of all problems; where it would be longer than 2,000 characters, it ends in "and N more". Keeps only what
 * can be told, since a request may have a problem in each of ten thousands of rows.
 */
export function describeProblems(problems: Iterable<string>): string {
	const kept: string[] = [];
	let keptLength = 0;
	let total = 0;
	for (const problem of problems) {
		total++;
		if (keptLength > longestText) continue;
		kept.push(problem);
		keptLength += problem.length + separator.length;
	}
	const all = kept.join(separator);
	if (kept.length === total && all.length <= longestText) return all;
	for (;;) {
		const text = `${kept.join(separator)}${separator}and ${total - kept.length} more`;
		if (text.length <= longestText || kept.length <= 1) return text;
		kept.pop();
	}
}
