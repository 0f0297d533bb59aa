import { compileCheck, type ObjectSchema, type Schema } from './type.ts';

/** A property's schema; `x-must-be` describes valid values. */
type FieldSchema = Schema & { 'x-must-be': string };

interface Field {
	readonly name: string;
	readonly required: boolean;
	readonly mustBe: string;
	readonly isValid: (value: unknown) => boolean;
}

/** Lists every problem with the properties of an object. */
export type FindProblems = (value: unknown, path: string) => string[];

/**
 * Compiles an object's schema into a function that names every missing or invalid property: `data[3].tid is required`.
 * Every property describes its valid values in `x-must-be`. A value that is not an object is one problem.
 */
export function compileProblems(schema: ObjectSchema): FindProblems {
	const required: readonly string[] = schema.required ?? [];
	const fields: Field[] = Object.entries(schema.properties).map(([name, property]) => {
		const check = compileCheck(property);
		return {
			name,
			required: required.includes(name),
			mustBe: (property as FieldSchema)['x-must-be'],
			isValid: check,
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
 * Joins the problems into one text. A text of more than 2,000 characters is cut off and ends in "and N more". Keeps only
 * what fits, because a request may have tens of thousands of problems.
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
