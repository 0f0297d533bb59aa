import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { newLoginLink } from '../../../src/capabilities/people/access/sign-in.ts';
import { vidsAfter } from '../../../src/core/store/account/reading/visitors.ts';
import { browserTestMs, launchBrowser, openContext, withoutBrowser } from '../../core/collect/browser.ts';
import { engines } from '../../core/store/engines.ts';
import { freePort } from '../../free-port.ts';
import { caskade, caskadeJson } from '../../process.ts';
import { takesLong } from '../../quick.ts';
import { serveHere } from '../../serve-here.ts';
import { temporaryFolder } from '../../support.ts';
import { consoleHere } from './here.ts';
import { addressesOf, faultsOf } from './markup.ts';

const aid = 'c-a-demo-local';
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/**
 * How each page is looked at, once it is loaded. At 200 % a window of 1,400 px shows what one of 700 px would. What colours
 * do not change is not looked for again in the dark.
 */
const looks = [
	{ name: 'light', colorScheme: 'light', width: 1400, aids: {} },
	{ name: 'light, at 200 %', colorScheme: 'light', width: 700, aids: {} },
	{ name: 'light, narrow', colorScheme: 'light', width: 360, aids: {} },
	{ name: 'dark, narrow', colorScheme: 'dark', width: 360, aids: { runOnly: ['color-contrast'] } },
	{ name: 'dark', colorScheme: 'dark', width: 1400, aids: { runOnly: ['color-contrast'] } },
] as const;

/** What axe finds, as texts: to make and to hand over all that it knows of a page takes longer than to look at it. */
function violationsFor(aids: object): string {
	const options = { ...aids, resultTypes: ['violations'], selectors: false, preload: false };
	return `axe.run(${JSON.stringify(options)}).then(({ violations }) =>
		violations
			.filter(({ impact }) => impact === 'serious' || impact === 'critical')
			.map(({ id, nodes }) =>
				[id + ':', nodes[0].html.slice(0, 160), '(' + nodes.length + ')', nodes[0].failureSummary?.slice(0, 200)].join(' '),
			),
	)`;
}

test('the markup of pages that need no figures is valid', async (t) => {
	const { person } = await consoleHere(t, engines[0] as (typeof engines)[number]);
	const browser = await person('ada@example.com', [{ aid: null, role: 'admin' }]);
	const faults: string[] = [];
	for (const address of addressesOf('c-a-one', { email: 'ada@example.com' })) {
		const { body } = await browser.get(address);
		if (body.startsWith('<')) for (const fault of await faultsOf(body)) faults.push(`${address}: ${fault}`);
	}
	assert.deepEqual(faults, []);
});

/** Pictures that a telephone does not show whole. The flow through a site has many steps, and more than 24 rows are drawn once. */
const scrollingPictures = `[...document.querySelectorAll('.picture > .wide')]
	.filter((box) => box.scrollWidth > box.clientWidth && !box.querySelector('.flow'))
	.filter((box) => box.querySelector('.small'))
	.map((box) => box.getAttribute('aria-label'))`;

test('every page is sound: markup, reading aids, light and dark, narrow and enlarged, without breaking its own policy', {
	skip: takesLong || withoutBrowser,
	timeout: browserTestMs,
}, async (t) => {
	const at = ['--database', `sqlite:${temporaryFolder(t)}/data`];
	assert.equal((await caskade(['demo', '--visitors', '1000', ...at])).code, 0);
	assert.equal((await caskade(['train', aid, ...at])).code, 0);
	const port = await freePort();
	await using server = await serveHere([...at, '--console-port', String(port)]);
	const url = `http://127.0.0.1:${port}`;
	const { control } = server.store;
	const person = await control.people.create('ada@example.com', [{ aid: null, role: 'admin' }]);
	const { link } = await newLoginLink(control, person, url);
	const browser = await launchBrowser();
	t.after(() => browser.close());
	const { id } = await control.account(aid);
	const [vid = ''] = await server.store.read(id, vidsAfter('', 1));
	const [{ tid }] = (await caskadeJson(['events', aid, ...at])) as [{ tid: string }];
	// Some hits show a customer; whether an event does depends on the day.
	const [, cid = ''] = /"cid":"([^"]+)"/.exec((await caskade(['export', aid, ...at])).stdout) ?? [];
	const addresses = [
		...addressesOf(aid, { vid, tid, cid, email: person.email }),
		`/console/${aid}/scores?goal=subscription&cost=100&value=5000`,
		`/console/${aid}/segments?id=mine&name=Mine&rule=visitor.visits+%3E+`,
		`/console/${aid}/segments?id=mine&name=Mine&rule=visitor.visits+%3E+1`,
	];
	assert.ok(addresses.length > 10);
	const faults: string[] = [];
	const context = await openContext(
		t,
		browser,
		"addEventListener('securitypolicyviolation', ({ violatedDirective }) => console.error(violatedDirective))",
	);
	const page = await context.newPage();
	await page.goto(link);
	await page.getByRole('button', { name: 'Sign in' }).click();
	await page.waitForURL(/console\/c-a-/);
	let what = '';
	page.on('pageerror', (error) => faults.push(`${what}: ${error}`));
	page.on('console', (message) => {
		if (message.type() === 'error' && !message.location().url.endsWith('/favicon.ico'))
			faults.push(`${what}: ${message.text()}`);
	});
	for (const address of addresses) {
		what = address;
		await page.goto(`${url}${address}`);
		// Figures that take long.
		await page.locator('main[aria-busy]').waitFor({ state: 'detached' });
		await page.evaluate(axe);
		for (const { name, colorScheme, width, aids } of looks) {
			what = `${address} ${name}`;
			await page.emulateMedia({ colorScheme });
			await page.setViewportSize({ width, height: 800 });
			const violations: string[] = await page.evaluate(violationsFor(aids));
			for (const violation of violations) faults.push(`${what}: ${violation}`);
			const wide = Number(
				await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth'),
			);
			if (wide > 0) faults.push(`${what}: scrolls sideways by ${wide} px`);
			const scrolling: string[] = width <= 360 ? await page.evaluate(scrollingPictures) : [];
			for (const picture of scrolling) faults.push(`${what}: ${picture} scrolls sideways`);
		}
		what = address;
		const structure = await page.locator('body').ariaSnapshot();
		if (!/navigation "Console"/.test(structure) || !/heading .*\[level=1\]/.test(structure))
			faults.push(`${what}: it has no navigation or no heading`);
		const source = await (await context.request.get(`${url}${address}`)).text();
		for (const fault of await faultsOf(source)) faults.push(`${what}: ${fault}`);
	}
	assert.deepEqual([...new Set(faults)], []);
	// Printed, a table that is too wide for a page that stands upright has one that lies, and fits there.
	await page.goto(`${url}/console/${aid}/revenue?period=all`);
	await page.locator('main[aria-busy]').waitFor({ state: 'detached' });
	await page.evaluate("for (const data of document.querySelectorAll('details.data')) data.open = true");
	const printed = (await page.pdf({ format: 'A4' })).toString('latin1');
	const lies = [...printed.matchAll(/\/MediaBox\s*\[0 0 ([\d.]+) ([\d.]+)\]/g)].map(
		([, across, down]) => Number(across) > Number(down),
	);
	assert.ok(lies.includes(true) && lies.includes(false), `pages that lie: ${lies}`);
	await page.emulateMedia({ media: 'print', colorScheme: 'light' });
	for (const [width, tables] of [
		[718, 'table:not(:has(thead th:nth-child(17)))'],
		[1047, 'table:has(thead th:nth-child(17))'],
	] as const) {
		await page.setViewportSize({ width, height: 1000 });
		const widths: number[] = await page.evaluate(
			`[...document.querySelectorAll('${tables}')].map((table) => table.getBoundingClientRect().right)`,
		);
		assert.ok(widths.length > 0 && widths.every((right) => right <= width), `${width}: ${widths}`);
	}
});
