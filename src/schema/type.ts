/** The part of JSON Schema that requests and answers are described with, and checks compiled from it. */

const optionalProperty = Symbol('optional');
declare const accepted: unique symbol;

/** A JSON Schema, with the type of the values it accepts. */
export interface Schema<Value = unknown> {
	readonly [accepted]?: Value;
	readonly [keyword: string]: unknown;
}

/** A property that may be missing. */
export interface OptionalSchema<Value = unknown> extends Schema<Value> {
	readonly [optionalProperty]: true;
}

type Properties = Readonly<Record<string, Schema>>;
type OptionalNames<Of> = { [Name in keyof Of]: Of[Name] extends OptionalSchema ? Name : never }[keyof Of];

/** The type of the values that a schema accepts. */
export type Static<Of> = Of extends Schema<infer Value> ? Value : never;
type ObjectOf<Of> = { [Name in Exclude<keyof Of, OptionalNames<Of>>]: Static<Of[Name]> } & {
	[Name in OptionalNames<Of>]?: Static<Of[Name]>;
};

/** A schema of objects. Properties that it does not name are ignored. */
export interface ObjectSchema<Of extends Properties = Properties> extends Schema<ObjectOf<Of>> {
	readonly properties: Of;
	readonly required?: readonly string[];
}

type Keywords = Readonly<Record<string, unknown>>;

export const Type = {
	String: (keywords?: Keywords): Schema<string> => ({ type: 'string', ...keywords }),
	Integer: (keywords?: Keywords): Schema<number> => ({ type: 'integer', ...keywords }),
	Number: (keywords?: Keywords): Schema<number> => ({ type: 'number', ...keywords }),
	Boolean: (keywords?: Keywords): Schema<boolean> => ({ type: 'boolean', ...keywords }),
	Null: (): Schema<null> => ({ type: 'null' }),
	Unknown: (): Schema => ({}),
	Literal: <const Value extends string | boolean>(value: Value): Schema<Value> => ({
		type: typeof value,
		enum: [value],
	}),
	Union: <Of extends readonly Schema[]>(
		anyOf: readonly [...Of],
		keywords?: Keywords,
	): Schema<Static<Of[number]>> => ({
		anyOf,
		...keywords,
	}),
	Array: <Value>(items: Schema<Value>, keywords?: Keywords): Schema<Value[]> => ({
		type: 'array',
		items,
		...keywords,
	}),
	Object<Of extends Properties>(properties: Of, keywords?: Keywords): ObjectSchema<Of> {
		const required = Object.keys(properties).filter(
			(name) => !(optionalProperty in (properties[name] as Schema)),
		);
		return { type: 'object', ...(required.length > 0 && { required }), properties, ...keywords };
	},
	Optional: <Value>(schema: Schema<Value>): OptionalSchema<Value> => ({
		...schema,
		[optionalProperty]: true,
	}),
};

type Check = (value: unknown) => boolean;

/** Compiles a schema into a check. Each part is a function of its own, chosen once. */
export function compileCheck<Value>(schema: Schema<Value>): (value: unknown) => value is Value {
	return checkOf(schema) as (value: unknown) => value is Value;
}

function checkOf(schema: Schema): Check {
	const { type, enum: allowed, anyOf } = schema as { type?: string; enum?: unknown[]; anyOf?: Schema[] };
	if (anyOf) {
		const checks = anyOf.map(checkOf);
		return (value) => checks.some((check) => check(value));
	}
	if (allowed) return (value) => allowed.includes(value);
	if (type === 'string') return stringCheck(schema);
	if (type === 'integer' || type === 'number') return numberCheck(schema);
	if (type === 'array') return arrayCheck(schema);
	if (type === 'object') return objectCheck(schema as ObjectSchema);
	if (type === 'null') return (value) => value === null;
	if (type === 'boolean') return (value) => typeof value === 'boolean';
	return () => true;
}

function stringCheck({ minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern }: Schema): Check {
	const [least, most] = [Number(minLength), Number(maxLength)];
	const form = pattern === undefined ? undefined : new RegExp(String(pattern), 'u');
	return (value) =>
		typeof value === 'string' &&
		value.length >= least &&
		(value.length <= most || (value.length <= 2 * most && [...value].length <= most)) &&
		(form === undefined || form.test(value));
}

function numberCheck({
	type,
	minimum = Number.NEGATIVE_INFINITY,
	maximum = Number.POSITIVE_INFINITY,
}: Schema): Check {
	const [least, most] = [Number(minimum), Number(maximum)];
	const isKind = type === 'integer' ? Number.isInteger : Number.isFinite;
	return (value) => isKind(value) && (value as number) >= least && (value as number) <= most;
}

function arrayCheck({ items, minItems = 0, maxItems = Number.POSITIVE_INFINITY }: Schema): Check {
	const [least, most] = [Number(minItems), Number(maxItems)];
	const check = checkOf(items as Schema);
	return (value) =>
		Array.isArray(value) &&
		value.length >= least &&
		value.length <= most &&
		value.every((item) => check(item));
}

function objectCheck({ properties, required = [] }: ObjectSchema): Check {
	const fields = Object.entries(properties).map(([name, schema]) => ({
		name,
		isRequired: required.includes(name),
		check: checkOf(schema),
	}));
	return (value) => {
		if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
		for (const { name, isRequired, check } of fields) {
			const field = Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
			if (field === undefined ? isRequired : !check(field)) return false;
		}
		return true;
	};
}
