import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { request } from 'node:http';
import { test } from 'node:test';
import { TestProcess } from '../../../process.ts';
import { openAccount } from '../../../shared-server.ts';
import { event, type ServedAccount } from '../../../support.ts';

/** Common HTTP clients; each uploads the same, with its default headers. */

const created = '{"message":"Subscription created successfully.","validationErrors":null}';

function bodyFor(service: ServedAccount): string {
	return JSON.stringify({ aid: service.aid, data: [event({ tid: 'T-1', cid: 'Zoë 😀' })] });
}

async function assertStored(service: ServedAccount): Promise<void> {
	assert.deepEqual(
		(await service.stored()).map(({ tid, cid }) => [tid, cid]),
		[['T-1', 'Zoë 😀']],
	);
}

/** The reason to skip if a program is not installed. */
function missing(program: string): string | false {
	return spawnSync(program, ['--version']).status === 0 ? false : `there is no ${program} here`;
}

for (const [what, more] of [
	['curl', []],
	['curl that asks for "100 Continue"', ['-H', 'expect: 100-continue']],
	['curl in chunks', ['-H', 'transfer-encoding: chunked']],
	['curl with HTTP/1.0', ['--http1.0']],
	['curl that offers HTTP/2', ['--http2']],
] as const) {
	test(what, { skip: missing('curl') }, async () => {
		const service = await openAccount();
		const curl = new TestProcess('curl', [
			...['--silent', '--show-error', '--write-out', '\n%{http_code}', ...more],
			...['-H', `x-api-key: ${service.key}`, '-H', 'content-type: application/json'],
			...['--data-binary', '@-', `${service.url}/subscription`],
		]);
		curl.child.stdin?.end(bodyFor(service));
		assert.deepEqual(await curl.ended, { code: 0, signal: null, stdout: `${created}\n201`, stderr: '' });
		await assertStored(service);
	});
}

test("uploads with Node's fetch", async () => {
	const service = await openAccount();
	const answer = await fetch(`${service.url}/subscription`, {
		method: 'POST',
		headers: { 'x-api-key': service.key, 'content-type': 'application/json' },
		body: bodyFor(service),
	});
	assert.equal(answer.status, 201);
	assert.equal(await answer.text(), created);
	await assertStored(service);
});

test("uploads a stream of unknown length with Node's fetch", async () => {
	const service = await openAccount();
	const answer = await fetch(`${service.url}/subscription`, {
		method: 'POST',
		headers: { 'x-api-key': service.key, 'content-type': 'application/json' },
		body: new Blob([bodyFor(service)]).stream(),
		duplex: 'half',
	});
	assert.equal(answer.status, 201);
	await assertStored(service);
});

test("uploads with Node's http.request", async () => {
	const service = await openAccount();
	const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
	request(
		`${service.url}/subscription`,
		{ method: 'POST', headers: { 'x-api-key': service.key, 'content-type': 'application/json' } },
		(answer) => answer.resume().on('end', () => resolve(answer.statusCode)),
	)
		.on('error', reject)
		.end(bodyFor(service));
	assert.equal(await promise, 201);
	await assertStored(service);
});

const withUrllib = `
import sys, urllib.request
url, key = sys.argv[1:]
request = urllib.request.Request(url, data=sys.stdin.buffer.read(), method='POST',
    headers={'x-api-key': key, 'content-type': 'application/json'})
with urllib.request.urlopen(request, timeout=10) as answer:
    print(answer.status, answer.read().decode())
`;

test("uploads with Python's urllib", { skip: missing('python3') }, async () => {
	const service = await openAccount();
	const python = new TestProcess('python3', ['-c', withUrllib, `${service.url}/subscription`, service.key]);
	python.child.stdin?.end(bodyFor(service));
	assert.deepEqual(await python.ended, { code: 0, signal: null, stdout: `201 ${created}\n`, stderr: '' });
	await assertStored(service);
});
