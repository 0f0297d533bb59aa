import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { newLoginLink } from '../../../src/capabilities/people/access/sign-in.ts';
import {
	browserTestMs,
	launchBrowser,
	openContext,
	startSite,
	withoutBrowser,
} from '../../core/collect/browser.ts';
import { engines } from '../../core/store/engines.ts';
import { freePort } from '../../free-port.ts';
import { startOidcProvider } from '../../oidc.ts';
import { takesLong } from '../../quick.ts';
import { serveHere } from '../../serve-here.ts';
import { temporaryFolder } from '../../support.ts';

const email = 'ada@example.com';
const password = 'correct horse battery';

test('in a real browser, with scripts off: from the link to a password, out and in again; another site changes nothing', {
	skip: takesLong || withoutBrowser,
}, async (t) => {
	const port = await freePort();
	await using server = await serveHere([
		...['--database', `sqlite:${temporaryFolder(t)}`, '--console-port', String(port)],
	]);
	const url = `http://127.0.0.1:${port}`;
	const { control } = server.store;
	const person = await control.people.create(email, [{ aid: null, role: 'admin' }]);
	const { link } = await newLoginLink(control, person, url);
	const browser = await launchBrowser();
	t.after(() => browser.close());
	const context = await openContext(t, browser, undefined, { javaScriptEnabled: false });
	const page = await context.newPage();
	const complaints: string[] = [];
	page.on('console', (message) => {
		// Browsers look for an icon, wherever they are.
		if (!message.location().url.endsWith('/favicon.ico')) complaints.push(message.text());
	});

	await page.goto(link);
	await page.getByRole('button', { name: 'Sign in' }).click();
	await page.getByRole('heading', { name: /^(Overview|Accounts)$/ }).waitFor();
	await page.getByRole('link', { name: email }).click();
	const [cookie] = await context.cookies();
	assert.deepEqual([cookie?.name, cookie?.httpOnly, cookie?.sameSite], [`caskade-${port}`, true, 'Lax']);
	await page.getByLabel('New password').fill(password);
	await page.getByLabel('The same again').fill(password);
	await page.getByRole('button', { name: 'Set the password' }).click();
	await page.getByRole('button', { name: 'Change the password' }).waitFor();
	await page.getByRole('button', { name: 'Sign out', exact: true }).first().click();
	await page.getByLabel('Email address').fill(email);
	await page.getByLabel('Password').fill(password);
	await page.getByRole('button', { name: 'Sign in' }).click();
	await page.getByRole('link', { name: email }).click();
	await page.getByRole('heading', { name: 'Your account' }).waitFor();
	await page.getByRole('link', { name: 'People' }).click();
	await page.getByRole('heading', { name: 'Add a person' }).waitFor();
	assert.deepEqual(complaints, []);

	// Of the same site, as a client's shop may be: cookies are sent along.
	const form = `<form method="post" action="${url}/console/sign-out"><button>Win a prize</button></form>`;
	const shop = await startSite(t, () => form);
	await page.goto(shop);
	await page.getByRole('button').click();
	await page.getByText('does not come from a page of the console').waitFor();
	await page.goto(`${url}/console/account`);
	await page.getByRole('heading', { name: 'Your account' }).waitFor();
});

test('in a real browser, single sign-on works through two servers on PostgreSQL that take turns', {
	skip: takesLong || withoutBrowser,
	timeout: browserTestMs,
}, async (t) => {
	const at = (await engines[1]?.installedAddress(t)) as string;
	const ports = [await freePort(), await freePort()];
	let turn = 0;
	const proxy = createServer((received, answer) => {
		const { method, url: path, headers } = received;
		const options = { host: '127.0.0.1', port: ports[turn++ % 2], method, path, headers };
		const passed = request(options, (from) => {
			answer.writeHead(from.statusCode ?? 502, from.headers);
			from.pipe(answer);
		});
		passed.on('error', () => answer.destroy());
		answer.on('close', () => passed.destroy());
		received.pipe(passed);
	});
	await once(proxy.listen(0, '127.0.0.1'), 'listening');
	t.after(() => proxy.close());
	t.after(() => proxy.closeAllConnections());
	const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
	const provider = await startOidcProvider(t, `${url}/console/sign-in/return`);
	const secret = join(temporaryFolder(t), 'secret');
	writeFileSync(secret, provider.clientSecret);
	const sso = [
		'--sso-issuer',
		provider.issuer,
		'--sso-client-id',
		provider.clientId,
		'--sso-secret-file',
		secret,
	];
	const start = (port = 0) =>
		serveHere(['--database', at, '--console-port', String(port), '--console-url', url, ...sso]);
	await using one = await start(ports[0]);
	await using _two = await start(ports[1]);
	const { control } = one.store;
	const person = await control.people.create(email, [{ aid: null, role: 'admin' }]);
	const browser = await launchBrowser();
	t.after(() => browser.close());
	const page = await (await openContext(t, browser)).newPage();
	const atProvider = async () => {
		await page.waitForURL(`${provider.issuer}/**`);
		await page.getByPlaceholder('Enter any login').fill('ada at the provider');
		await page.getByPlaceholder('and password').fill('any');
		await page.getByRole('button', { name: 'Sign-in' }).click();
		await page.getByRole('button', { name: 'Continue' }).click();
		await page.waitForURL(`${url}/**`);
	};

	await page.goto((await newLoginLink(control, person, url)).link);
	await page.getByRole('button', { name: 'Sign in', exact: true }).click();
	await page.getByRole('link', { name: email }).click();
	await page.getByRole('button', { name: 'Connect' }).click();
	await page.getByRole('link', { name: /^Go on to / }).click();
	await atProvider();
	await page.getByText('You may sign in through').waitFor();
	await page.getByRole('button', { name: 'Sign out', exact: true }).first().click();
	await page.goto(`${url}/console/sign-in`);
	await page
		.getByRole('link', { name: /Sign in through/ })
		.or(page.getByRole('button', { name: /Sign in through/ }))
		.click();
	if (page.url().startsWith(provider.issuer)) await page.waitForURL(`${url}/**`);
	await page.getByRole('link', { name: 'People' }).click();
	await page.getByRole('link', { name: email }).first().click();
	await page.getByText('single sign-on').first().waitFor();
	assert.ok(turn > 10, 'both servers have answered');
});
