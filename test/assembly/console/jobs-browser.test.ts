import assert from 'node:assert/strict';
import { test } from 'node:test';
import { demoAid, demoLink } from '../../../src/capabilities/demo/demo-account.ts';
import { browserTestMs, launchBrowser, openContext, withoutBrowser } from '../../core/collect/browser.ts';
import { freePort } from '../../free-port.ts';
import { caskade, caskadeJson } from '../../process.ts';
import { takesLong } from '../../quick.ts';
import { serveHere } from '../../serve-here.ts';
import { temporaryFolder } from '../../support.ts';

/** What people come for: what they click after signing in, and where the answer stands then. */
const jobs = [
	{ job: 'why has revenue fallen', clicks: [], answer: 'Net revenue is £' },
	{ job: 'who stays, by channel', clicks: ['Retention'], answer: 'Still subscribed after' },
	{ job: 'is the experiment done', clicks: ['Experiments'], answer: 'welcome-back has ended' },
	{
		job: "last month's newsletter",
		clicks: ['Campaigns', 'Last month'],
		answer: 'Crediting the last touch that is not direct, friday-letter brought',
	},
	{
		job: 'which uploads failed today',
		clicks: ['Uploads', 'Today'],
		answer: 'Today, 1 of 2 API uploads failed: 1 invalid request.',
	},
	{
		job: 'which uploads failed yesterday',
		clicks: ['Uploads', 'Yesterday'],
		answer: 'Yesterday, no upload came through the API.',
	},
	{ job: 'erase customer-42', clicks: ['Visitors', 'Find'], answer: 'Erase this customer' },
] as const;

test('what people come for takes two clicks at most, and is told in the first 800 pixels', {
	skip: takesLong || withoutBrowser,
	timeout: browserTestMs,
}, async (t) => {
	const at = ['--database', `sqlite:${temporaryFolder(t)}/data`];
	assert.equal((await caskade(['demo', '--visitors', '2000', ...at])).code, 0);
	await caskade(['plan', 'create', 'roomy', '--rate', '100', '--burst', '100', ...at]);
	const issued = await caskadeJson(['key', 'issue', '--client', 'demo', '--plan', 'roomy', ...at]);
	const { key } = issued as { key: string };
	const port = await freePort();
	await using server = await serveHere([...at, '--console-port', String(port), '--demo']);
	const event = { tid: 'order-42', subid: 'order-42', evt: 'newsletter', rvn: 499 };
	const uploaded = await Promise.all(
		[
			{ ...event, cid: 'customer-42' },
			{ ...event, rvn: 'much' },
		].map((data) => server.upload(key, { aid: demoAid, data: [data] })),
	);
	assert.deepEqual(
		uploaded.map(({ status }) => status),
		[201, 400],
	);
	const link = (await demoLink(server.store, `http://127.0.0.1:${port}`)) as string;
	const browser = await launchBrowser();
	t.after(() => browser.close());
	const context = await openContext(t, browser, undefined, { viewport: { width: 1280, height: 800 } });
	const page = await context.newPage();
	await page.goto(link);
	await page.getByRole('button', { name: 'Sign in' }).click();
	const home = page.url();
	for (const { job, clicks, answer } of jobs) {
		await page.goto(home);
		for (const name of clicks) {
			if (name === 'Find') await page.getByRole('searchbox').fill('customer-42');
			const role = name === 'Find' ? 'button' : 'link';
			await page.getByRole(role, { name, exact: true }).click();
		}
		const told = page.getByText(answer).first();
		await told.waitFor();
		const box = await told.boundingBox();
		const endsAt = box ? box.y + box.height : Number.POSITIVE_INFINITY;
		t.diagnostic(`${job}: ${clicks.length} clicks, ${Math.round(endsAt)} px`);
		assert.ok(endsAt <= 800, `${job}: ${endsAt} px`);
	}
});
