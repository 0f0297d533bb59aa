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

/**
 * Compiles a schema into a check. Each part is a function of its own, chosen once.
 * @param fulfilled a pattern that all strings are known to fulfil, so that it need not be looked at
 */
export function compileCheck<Value>(
	schema: Schema<Value>,
	fulfilled?: string,
): (value: unknown) => value is Value {
	return checkOf(schema, fulfilled) as (value: unknown) => value is Value;
}

function checkOf(schema: Schema, fulfilled: string | undefined): Check {
	const { type, enum: allowed, anyOf } = schema as { type?: string; enum?: unknown[]; anyOf?: Schema[] };
	if (anyOf) {
		const checks = anyOf.map((one) => checkOf(one, fulfilled));
		return (value) => {
			for (const check of checks) if (check(value)) return true;
			return false;
		};
	}
	if (allowed) return (value) => allowed.includes(value);
	if (type === 'string') return stringCheck(schema, fulfilled);
	if (type === 'integer' || type === 'number') return numberCheck(schema);
	if (type === 'array') return arrayCheck(schema, fulfilled);
	if (type === 'object') return objectCheck(schema as ObjectSchema, fulfilled);
	if (type === 'null') return (value) => value === null;
	if (type === 'boolean') return (value) => typeof value === 'boolean';
	return () => true;
}

function stringCheck(
	{ minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern }: Schema,
	fulfilled: string | undefined,
): Check {
	const [least, most] = [Number(minLength), Number(maxLength)];
	const form = pattern === undefined || pattern === fulfilled ? undefined : new RegExp(String(pattern), 'u');
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

function arrayCheck(
	{ items, minItems = 0, maxItems = Number.POSITIVE_INFINITY }: Schema,
	fulfilled: string | undefined,
): Check {
	const [least, most] = [Number(minItems), Number(maxItems)];
	const check = checkOf(items as Schema, fulfilled);
	return (value) => {
		if (!Array.isArray(value) || value.length < least || value.length > most) return false;
		for (let at = 0; at < value.length; at++) if (!check(value[at])) return false;
		return true;
	};
}

function objectCheck({ properties, required = [] }: ObjectSchema, fulfilled: string | undefined): Check {
	const fields = Object.entries(properties).map(([name, schema]) => ({
		name,
		isRequired: required.includes(name),
		isInherited: name in Object.prototype,
		check: checkOf(schema, fulfilled),
	}));
	return (value) => {
		if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
		for (const { name, isRequired, isInherited, check } of fields) {
			const isMissing = isInherited && !Object.hasOwn(value, name);
			const field = isMissing ? undefined : (value as Record<string, unknown>)[name];
			if (field === undefined ? isRequired : !check(field)) return false;
		}
		return true;
	};
}
