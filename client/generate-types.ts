import { writeFileSync } from 'node:fs';

/** Part of a JSON document. */
// biome-ignore lint/suspicious/noExplicitAny: the document's shape is OpenAPI's
type Json = any;

export const typesFile = new URL('src/api-types.ts', import.meta.url);

const json = 'application/json';

/** The schemas of `/openapi.json` that become named types. Parts come before the types that contain them. */
const named: readonly (readonly [name: string, schemaIn: (paths: Json) => Json])[] = [
	[
		'SubscriptionEvent',
		(paths) => paths['/subscription'].post.requestBody.content[json].schema.properties.data.items,
	],
	['UploadRequest', (paths) => paths['/subscription'].post.requestBody.content[json].schema],
	['UploadAnswer', (paths) => paths['/subscription'].post.responses[201].content[json].schema],
	[
		'StoredReceipt',
		(paths) =>
			paths['/subscription/receipts'].post.responses[200].content[json].schema.properties.receipts.items
				.anyOf[0],
	],
	[
		'MissingReceipt',
		(paths) =>
			paths['/subscription/receipts'].post.responses[200].content[json].schema.properties.receipts.items
				.anyOf[1],
	],
	['ReceiptsRequest', (paths) => paths['/subscription/receipts'].post.requestBody.content[json].schema],
	['ReceiptsAnswer', (paths) => paths['/subscription/receipts'].post.responses[200].content[json].schema],
	['Usage', (paths) => paths['/usage'].get.responses[200].content[json].schema],
	['ReportQuery', reportQueryOf],
	['Report', (paths) => paths['/reports/attribution'].get.responses[200].content[json].schema],
];

/** The query parameters of an operation as the schema of an object. */
function queryOf({ parameters }: Json): Json {
	return {
		type: 'object',
		properties: Object.fromEntries(
			parameters.map(({ name, schema, description }: Json) => [name, { description, ...schema }]),
		),
		required: parameters.filter(({ required }: Json) => required).map(({ name }: Json) => name),
	};
}

const reportFolder = '/reports/';

function reportPaths(paths: Json): string[] {
	return Object.keys(paths).filter((path) => path.startsWith(reportFolder));
}

/** The parameters of all reports. Each report refuses those that it does not use. */
function reportQueryOf(paths: Json): Json {
	const queries = reportPaths(paths).map((path) => queryOf(paths[path].get));
	const properties = Object.assign({}, ...queries.map((query) => query.properties));
	return {
		...queries[0],
		description: 'The parameters of all reports. Each report refuses those that it does not use.',
		properties,
	};
}

/** Generates the TypeScript types of requests and answers. @param document content of `/openapi.json` */
export function generateTypes(document: Json): string {
	const names = new Map<string, string>();
	const texts = named.map(([name, schemaIn]) => {
		const schema = schemaIn(document.paths);
		const text = `${comment(schema, '')}export interface ${name} ${typeOf(schema, '', names)}\n`;
		names.set(JSON.stringify(schema), name);
		return text;
	});
	texts.push(reportsOf(document.paths));
	return `// Generated from /openapi.json by 'npm run build:client-types'. Do not edit.\n\n${texts.join('\n')}`;
}

/** A function for each report. */
function reportsOf(paths: Json): string {
	const kinds = reportPaths(paths).map((path) => path.slice(reportFolder.length));
	const functions = kinds.map((kind) => {
		const { summary } = paths[reportFolder + kind].get;
		return `\t/** ${summary}. @throws CaskadeError */\n\treadonly ${kind}: (aid: string, options?: Options) => Promise<Report>;\n`;
	});
	return `// biome-ignore format: generated in one line
export const reportKinds = [${kinds.map(literal).join(', ')}] as const;

/** Reports of an account, by kind. */
export interface ReportsBy<Options> {
${functions.join('')}}
`;
}

function typeOf(schema: Json, indent: string, names: ReadonlyMap<string, string>): string {
	const name = names.get(JSON.stringify(schema));
	if (name) return name;
	if ('const' in schema) return literal(schema.const);
	if (schema.enum) return schema.enum.map(literal).join(' | ');
	if (schema.anyOf) return schema.anyOf.map((one: Json) => typeOf(one, indent, names)).join(' | ');
	if (schema.type === 'array') {
		const items = typeOf(schema.items, indent, names);
		return items.includes(' | ') ? `readonly (${items})[]` : `readonly ${items}[]`;
	}
	if (schema.type === 'object' && Object.keys(schema.properties ?? {}).length === 0)
		return 'Readonly<Record<string, unknown>>';
	if (schema.type === 'object') return objectOf(schema, indent, names);
	if (schema.type === 'integer') return 'number';
	if (['string', 'number', 'boolean', 'null'].includes(schema.type)) return schema.type;
	throw new Error(`a schema that has no type here: ${JSON.stringify(schema)}`);
}

function objectOf(schema: Json, indent: string, names: ReadonlyMap<string, string>): string {
	const inner = `${indent}\t`;
	const fields = Object.entries<Json>(schema.properties).map(([name, field]) => {
		const mark = (schema.required ?? []).includes(name) ? '' : '?';
		const type = typeOf(field, inner, names);
		return `${comment(field, inner)}${inner}readonly ${name}${mark}: ${type}${mark ? ' | undefined' : ''};\n`;
	});
	return `{\n${fields.join('')}${indent}}`;
}

function literal(value: unknown): string {
	return typeof value === 'string' ? `'${value}'` : String(value);
}

function comment({ description }: Json, indent: string): string {
	return description ? `${indent}/** ${description} */\n` : '';
}

/** `npm run build:client-types` */
if (import.meta.main) {
	const { documentOfServer } = await import('./server-document.ts');
	writeFileSync(typesFile, generateTypes(await documentOfServer()));
}
