import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newLoginLink } from '../../../src/capabilities/people/access/sign-in.ts';
import { launchBrowser, openContext, startSite, withoutBrowser } from '../../core/collect/browser.ts';
import { freePort } from '../../free-port.ts';
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
