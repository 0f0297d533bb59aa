import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { capabilities } from '../../../src/assembly/capabilities.ts';
import { errorTable } from '../../../src/core/errors.ts';
import { managedActsOf } from '../../../src/kit/operations/manage.ts';
import { allReports } from '../../reports.ts';
import { openAccount } from '../../shared-server.ts';
import { type ServedAccount, startService } from '../../support.ts';

const ajv = new Ajv2020({ strict: false, validateFormats: false });

/** The OpenAPI Initiative's schema of 3.1 documents (Apache-2.0), as @seriousme/openapi-schema-validator 2.11 has it for Ajv. */
const isOpenApi31 = ajv.compile(
	JSON.parse(readFileSync(join(import.meta.dirname, 'openapi-3.1-schema.json'), 'utf8')),
);

// biome-ignore lint/suspicious/noExplicitAny: the document's shape is what the first test checks
type Json = any;

async function documentOf(service: ServedAccount): Promise<Json> {
	const answer = await fetch(`${service.url}/openapi.json`);
	assert.equal(answer.status, 200);
	assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
	return answer.json();
}

/** Every object in a JSON value, with its path. */
function* objectsIn(value: Json, path = ''): Generator<[path: string, object: Record<string, Json>]> {
	if (typeof value !== 'object' || value === null) return;
	if (!Array.isArray(value)) yield [path, value];
	for (const [name, inner] of Object.entries(value)) yield* objectsIn(inner, `${path}/${name}`);
}

test('/openapi.json is a valid OpenAPI 3.1 document', async () => {
	const document = await documentOf(await openAccount());
	assert.ok(isOpenApi31(document), JSON.stringify(isOpenApi31.errors, null, 2));
	for (const [path, { schema }] of objectsIn(document))
		if (schema) assert.equal(ajv.validateSchema(schema), true, `${path}/schema: ${ajv.errorsText()}`);
});

test('the document has the operations of the contract, but not those for operators and browsers', async () => {
	const document = await documentOf(await openAccount());
	assert.deepEqual(
		Object.keys(document.paths).sort(),
		[
			...['/subscription', '/subscription/receipts', '/subscription/{tid}', '/usage'],
			...['/visscores', '/visscores/segments'],
			...allReports.map(({ kind }) => `/reports/${kind}`),
			...Object.entries(managedActsOf(capabilities)).flatMap(([noun, { verbs, isListed }]) => [
				...(isListed ? [`/manage/${noun}`] : []),
				...verbs.map((verb) => `/manage/${noun}/${verb}`),
			]),
			'/hit',
		].sort(),
	);
	assert.deepEqual(Object.keys(document.paths['/subscription']), ['post']);
	const { security } = document.paths['/subscription'].post;
	const [scheme] = Object.keys(security[0]);
	assert.deepEqual(
		(({ type, in: where, name }) => ({ type, where, name }))(
			document.components.securitySchemes[scheme as string],
		),
		{ type: 'apiKey', where: 'header', name: 'x-api-key' },
	);
	for (const path of ['/visscores', '/visscores/segments'])
		assert.deepEqual(document.paths[path].get.security, [{ cask: [] }]);
	const { type, in: where, name } = document.components.securitySchemes.cask;
	assert.deepEqual({ type, where, name }, { type: 'apiKey', where: 'query', name: 'cask' });
});

test('every status of the operation is documented, with every body', async () => {
	const document = await documentOf(await openAccount());
	const { responses } = document.paths['/subscription'].post;
	assert.deepEqual(Object.keys(responses), [
		...['200', '201', '400', '403', '413', '415', '429', '500', '503', '504'],
	]);
	assert.deepEqual(responses[201].content['application/json'].example, {
		message: 'Subscription created successfully.',
		validationErrors: null,
	});
	assert.deepEqual(responses[200].content['application/json'].example, {
		message: 'Subscription simulated successfully.',
		validationErrors: null,
	});
	const bodiesOf = (status: number): Json[] =>
		Object.values(responses[status].content['application/json'].examples).map(
			(example: Json) => example.value,
		);
	assert.deepEqual(
		bodiesOf(400).map(({ message }) => message),
		[
			'Malformed JSON.',
			'Error inserting subscription.',
			'No account c-a-x is available to this API key.',
			'Bad request.',
		],
	);
	assert.equal(bodiesOf(400)[2].validationErrors, 'Invalid account');
	assert.deepEqual(bodiesOf(403), [{ message: 'Forbidden', validationErrors: null }]);
	assert.deepEqual(bodiesOf(429), [
		{ message: 'Rate limit exceeded.', validationErrors: null },
		{ message: 'Too Many Requests' },
	]);
	assert.deepEqual(bodiesOf(504), [{ message: 'Endpoint request timed out' }]);
	for (const status of [413, 415, 500, 503])
		for (const { message } of bodiesOf(status))
			assert.ok(
				Object.values(errorTable).some((entry) => entry.status === status && entry.message === message),
				`${status} ${message}`,
			);
});

test('the headers of every answer are documented', async () => {
	const document = await documentOf(await openAccount());
	for (const [status, { headers }] of Object.entries<Json>(document.paths['/subscription'].post.responses)) {
		const expected = ['x-request-id'];
		if (status !== '403') expected.push('ratelimit', 'ratelimit-policy');
		if (status.startsWith('2'))
			expected.push(
				...['x-events-stored', 'x-events-duplicate', 'x-events-conflicting'],
				...['x-duplicate-rows', 'x-conflicting-rows', 'x-unjoinable-rows'],
			);
		if (status === '429' || status === '503') expected.push('retry-after');
		assert.deepEqual(Object.keys(headers).sort(), expected.sort(), status);
	}
});

test('every example is valid by its schema', async () => {
	const document = await documentOf(await openAccount());
	let examples = 0;
	const check = (schema: Json, value: Json, path: string) => {
		assert.ok(ajv.validate(schema, value), `${path}: ${JSON.stringify(value)}: ${ajv.errorsText()}`);
		examples++;
	};
	for (const [path, object] of objectsIn(document)) {
		if (object.schema && 'example' in object) check(object.schema, object.example, path);
		if (object.schema && object.examples)
			for (const { value } of Object.values<Json>(object.examples)) check(object.schema, value, path);
		if (Array.isArray(object.examples)) for (const value of object.examples) check(object, value, path);
	}
	assert.ok(examples >= 15, `only ${examples} examples`);
});

test("a request built from the document's examples is stored", async (t) => {
	const service = await startService(t, { now: () => Date.UTC(2026, 1, 1) });
	const document = await documentOf(service);
	const { schema } = document.paths['/subscription'].post.requestBody.content['application/json'];
	const event = Object.fromEntries(
		Object.entries<Json>(schema.properties.data.items.properties).map(([name, { examples }]) => [
			name,
			examples[0],
		]),
	);
	assert.deepEqual(Object.keys(event), ['tid', 'subid', 'cid', 'evt', 'rvn', 'at']);
	const body = { aid: schema.properties.aid.examples[0], data: [event], simulate: false };
	assert.ok(ajv.validate(schema, body));
	assert.equal(body.aid, service.aid);
	assert.equal((await service.upload(body)).status, 201);
});

test('/docs/api loads everything from this host', async () => {
	const service = await openAccount();
	const page = await fetch(`${service.url}/docs/api`);
	assert.equal(page.status, 200);
	assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8');
	// The browser itself must block everything from elsewhere, whatever Swagger UI requests.
	const policy = page.headers.get('content-security-policy') as string;
	assert.match(policy, /^default-src 'self';/);
	assert.doesNotMatch(policy, /https?:|\*/);

	const html = await page.text();
	assert.doesNotMatch(html, /https?:|"\/\//);
	const [icon, ...files] = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, file]) => file as string);
	assert.equal(icon, 'data:,');
	assert.deepEqual(files, ['api/swagger-ui.css', 'api/swagger-ui-bundle.js', 'api/start.js']);
	const texts: Record<string, string> = {};
	for (const file of files) {
		const answer = await fetch(new URL(file, page.url));
		assert.equal(answer.status, 200, file);
		const type = file.endsWith('.css') ? 'text/css' : 'text/javascript';
		assert.equal(answer.headers.get('content-type'), `${type}; charset=utf-8`);
		assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');
		texts[file] = await answer.text();
	}
	for (const [, url] of (texts['api/swagger-ui.css'] as string).matchAll(/url\(([^)]+)\)/g))
		assert.match(url as string, /^["']?data:/);
	assert.doesNotMatch(texts['api/swagger-ui.css'] as string, /@import/);
	assert.doesNotMatch(texts['api/start.js'] as string, /https?:/);
	assert.match(texts['api/start.js'] as string, /url: '\.\.\/openapi\.json'/);
	assert.match(texts['api/start.js'] as string, /validatorUrl: null/);
});
