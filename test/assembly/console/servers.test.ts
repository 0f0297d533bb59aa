import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { newLoginLink } from '../../../src/capabilities/people/access/sign-in.ts';
import { engines } from '../../core/store/engines.ts';
import { eventually } from '../../eventually.ts';
import { freePort } from '../../free-port.ts';
import { assertRefused, caskade, caskadeJson } from '../../process.ts';
import { takesLong } from '../../quick.ts';
import { type ServerHere, serveHere } from '../../serve-here.ts';
import { temporaryFolder } from '../../support.ts';

const email = 'ada@example.com';

/** Asks a server's console, as a browser with this cookie does. */
function ask(port: number, path: string, init: RequestInit & { headers?: Record<string, string> } = {}) {
	return fetch(`http://127.0.0.1:${port}${path}`, {
		...init,
		redirect: 'manual',
		headers: { 'sec-fetch-site': 'same-origin', ...init.headers },
	});
}

/** Signs in with a link. @returns the cookie */
async function enter(port: number, link: string): Promise<string> {
	const body = new URLSearchParams({ link: new URL(link).searchParams.get('link') as string });
	const { status, headers } = await ask(port, '/console/sign-in', { method: 'POST', body });
	assert.equal(status, 303);
	return (headers.get('set-cookie') as string).split(';')[0] as string;
}

const statusOf = async (port: number, cookie: string) =>
	(await ask(port, '/console/account', { headers: { cookie } })).status;

async function start(address: string, port: number, ...flags: string[]): Promise<ServerHere> {
	return serveHere(['--database', address, '--console-port', String(port), '--log-level', 'debug', ...flags]);
}

for (const engine of engines)
	test(`who has signed in stays so when the server starts again, and is out once removed, on ${engine.name}`, {
		skip: takesLong,
	}, async (t) => {
		const at = await engine.installedAddress(t);
		const port = await freePort();
		let cookie = '';
		{
			await using server = await start(at, port);
			const grants = [{ aid: null, role: 'admin' }] as const;
			const person = await server.store.control.people.create(email, grants);
			// The last admin stays.
			await server.store.control.people.create('other@example.com', grants);
			const { link } = await newLoginLink(server.store.control, person, `http://127.0.0.1:${port}`);
			cookie = await enter(port, link);
			assert.match(cookie, new RegExp(`^caskade-${port}=`));
			assert.equal(await statusOf(port, cookie), 200);
			const log = server.logged.join();
			for (const secret of [cookie.split('=')[1], new URL(link).search])
				assert.equal(log.includes(secret as string), false);
		}
		await using server = await start(at, port);
		assert.equal(await statusOf(port, cookie), 200);
		await caskade(['user', 'remove', email, '--database', at]);
		await eventually('the person is out', async () => (await statusOf(port, cookie)) === 303);
		assert.equal((await fetch(`${server.url}/console/`)).status, 404, 'the console is on its own port alone');
	});

test('who has signed in at one server is signed in at the other', { skip: takesLong }, async (t) => {
	const at = (await engines[1]?.installedAddress(t)) as string;
	const ports = [await freePort(), await freePort()] as const;
	const url = 'https://console.example.com';
	await using one = await start(at, ports[0], '--console-url', url);
	await using two = await start(at, ports[1], '--console-url', url);
	assert.deepEqual([one.consoleUrl, two.consoleUrl], [`${url}/console/`, `${url}/console/`]);
	const { link } = (await caskadeJson([
		...['user', 'create', email, '--role', 'viewer', '--console-url', url, '--database', at],
	])) as { link: string };
	const cookie = await enter(ports[0], link);
	assert.match(cookie, /^__Host-caskade=/);
	assert.deepEqual(await Promise.all(ports.map((port) => statusOf(port, cookie))), [200, 200]);
	await caskade(['user', 'sessions', email, '--end', '--database', at]);
	for (const port of ports)
		await eventually('the session has ended', async () => (await statusOf(port, cookie)) === 303);
});

test('the settings of single sign-on go together, and the secret is read from a file', async (t) => {
	const folder = temporaryFolder(t);
	const file = join(folder, 'secret');
	const at = ['--database', `sqlite:${join(folder, 'data')}`, '--port', '0'];
	const issuer = ['--sso-issuer', 'https://id.example.com'];
	assertRefused(await caskade(['serve', ...at, ...issuer]), /go together; one is missing/);
	const all = [...issuer, '--sso-client-id', 'caskade', '--sso-secret-file', file];
	assertRefused(await caskade(['serve', ...at, ...all]), /secret cannot be read \(ENOENT\)/);
	writeFileSync(file, 'a secret\n');
	const port = await freePort();
	await using server = await serveHere([...at, ...all, '--console-port', String(port)]);
	assert.match(await (await ask(port, '/console/sign-in')).text(), /Sign in through id\.example\.com/);
	assert.ok(server.consoleUrl);
});
