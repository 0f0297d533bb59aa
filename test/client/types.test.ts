import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { generateTypes, typesFile } from '../../client/generate-types.ts';
import { openAccount } from '../shared-server.ts';

test("the client's types match /openapi.json; npm run build:client-types generates them", async () => {
	const service = await openAccount();
	const document = await (await fetch(`${service.url}/openapi.json`)).json();
	assert.equal(readFileSync(typesFile, 'utf8'), generateTypes(document));
});

test('a changed schema changes the types', () => {
	const text = readFileSync(typesFile, 'utf8');
	assert.match(text, /readonly rvn\?: number \| '' \| null \| undefined;/);
	assert.match(text, /export interface Usage \{/);
});
