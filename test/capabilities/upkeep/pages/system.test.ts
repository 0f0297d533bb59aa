import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { newLoginLink } from '../../../../src/capabilities/people/access/sign-in.ts';
import { freePort } from '../../../free-port.ts';
import { serveHere } from '../../../serve-here.ts';
import { temporaryFolder } from '../../../support.ts';

test('the page of the system tells what status, doctor and the metrics of the serving thread know', async (t) => {
	const port = await freePort();
	const folder = temporaryFolder(t);
	writeFileSync(join(folder, 'erasures.jsonl'), '{"at":');
	const flags = ['--database', `sqlite:${folder}`, '--console-port', String(port)];
	await using server = await serveHere(flags);
	const url = `http://127.0.0.1:${port}`;
	const { control } = server.store;
	const person = await control.people.create('ada@example.com', [{ aid: null, role: 'admin' }]);
	const { link } = await newLoginLink(control, person, url);
	const headers = { 'sec-fetch-site': 'same-origin' };
	const entered = await fetch(`${url}/console/sign-in`, {
		method: 'POST',
		headers,
		redirect: 'manual',
		body: new URLSearchParams({ link: new URL(link).searchParams.get('link') as string }),
	});
	const cookie = (entered.headers.get('set-cookie') as string).split(';')[0] as string;
	await (await fetch(`${server.url}/readyz`)).text();
	const page = await (await fetch(`${url}/console/system`, { headers: { cookie } })).text();
	for (const name of ['Version', 'Schema of accounts', 'Started', 'Servers now', 'Accounts', 'Last backup'])
		assert.match(page, new RegExp(`<dt>${name}</dt>`), name);
	assert.match(page, /caskade_store_queue_depth/);
	assert.match(page, /caskade_store_commit_duration_seconds/);
	assert.match(page, /caskade_http_requests_total\{operation=/);
	const token = /name="token" value="([^"]+)"/.exec(page)?.[1] as string;
	const checked = await fetch(`${url}/console/system`, {
		method: 'POST',
		headers: { ...headers, cookie },
		body: new URLSearchParams({ token, action: 'doctor' }),
	});
	const checks = await checked.text();
	assert.match(checks, /disk space/);
	assert.match(checks, /control database/);
	assert.match(checks, /erasures\.jsonl cannot be read in line 1/);
});
