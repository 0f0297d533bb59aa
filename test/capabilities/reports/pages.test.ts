import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { dayMs } from '../../../src/core/durations.ts';
import { allTests } from '../../at-end.ts';
import { browserTestMs, launchBrowser, withoutBrowser } from '../../core/collect/browser.ts';
import { caskade } from '../../process.ts';
import { takesLong } from '../../quick.ts';
import { temporaryFolder } from '../../support.ts';
import { day0Ms } from './made-up.ts';

const aid = 'c-a-acme-uk';
const campaigns = [
	...['spring', 'عرض الربيع', 'x'.repeat(240), '<b>sale</b>', '(none)', 'edirrevo \u202eltr', '日本語の春'],
	...Array.from({ length: 12 }, (_, number) => `autumn ${number}`),
];
const channels = ['email', 'paid search', 'organic search', 'direct', 'social', 'affiliates'];

/** Fourteen months of subscribers with renewals and refunds, and three times as many visitors who did not subscribe. */
function history(): string {
	const lines: object[] = [];
	const at = (days: number) => new Date(day0Ms + days * dayMs).toISOString();
	for (let number = 0; number < 560; number++) {
		const day = (number * 0.61803) % 400;
		const own = (nth: number) => ({
			channel: channels[(number * 7 + nth * nth) % channels.length],
			url: `https://shop.example/${number % 3 ? 'plans' : 'a-very-long-page-name/that-goes-on/and-on'}?utm_campaign=${encodeURIComponent(campaigns[(number + nth) % campaigns.length] as string)}`,
		});
		for (let touch = 0; touch <= number % 5; touch++)
			lines.push({ type: 'hit', at: at(day + touch / 2), visitor: `v${number}`, ...own(touch) });
		if (number % 4 > 0) continue;
		const bought = day + 2.6;
		const tid = `t${number}`;
		lines.push({ type: 'hit', at: at(bought), visitor: `v${number}`, events: [{ name: 'order', tid }] });
		const evt = number % 8 ? 'newsletter' : 'a subscription type with a long name';
		const rvn = number % 12 ? 123_456 : 499;
		const pay = (id: string, days: number, pence: number) =>
			lines.push({ type: 'subscription', at: at(days), tid: id, subid: `s${number}`, evt, rvn: pence });
		pay(tid, bought, rvn);
		const renewals = number % 11;
		for (let time = 1; time <= renewals && bought + 30 * time < 410; time++)
			pay(`${tid}-${time}`, bought + 30 * time, rvn);
		if (number % 20 === 0) pay(`${tid}-back`, bought + 5, -2 * rvn);
	}
	return lines.map((line) => JSON.stringify(line)).join('\n');
}

const asked = {
	activity: ['activity', '--every', 'week'],
	attribution: ['attribution', '--model', 'all'],
	'attribution by campaign': ['attribution', '--model', 'linear,markov', '--by', 'campaign'],
	'attribution by month': ['attribution', '--every', 'month'],
	'attribution long, compared': [
		...['attribution', '--model', 'all', '--long', '--from', '2026-10-01', '--to', '2026-11-01'],
		...['--compare', 'previous'],
	],
	paths: ['paths', '--by', 'campaign'],
	movement: ['movement', '--by', 'channel'],
	retention: ['retention'],
	renewals: ['renewals', '--by', 'evt'],
	ltv: ['ltv'],
	coverage: ['coverage'],
	hosts: ['hosts'],
	spend: ['spend'],
	promises: ['promises'],
	forecast: ['forecast'],
};

/** In print, the width between the margins of A4. */
const paper = 718;

describe('pages of reports', { skip: takesLong || withoutBrowser, timeout: browserTestMs }, () => {
	let browser: Browser;
	const pages = new Map<string, string>();
	before(async () => {
		browser = await launchBrowser();
		const folder = temporaryFolder(allTests);
		const at = ['--database', `sqlite:${folder}/data`];
		await caskade(['account', 'create', aid, '--client', 'acme', ...at]);
		const [log, spending] = [join(folder, 'history.ndjson'), join(folder, 'spending.csv')];
		writeFileSync(log, history());
		writeFileSync(spending, 'day,channel,pence\n2026-03-01,email,1000\n2026-03-01,social,99999999\n');
		await caskade(['import', aid, log, ...at]);
		await caskade(['spend', 'import', aid, spending, ...at]);
		for (const [name, args] of Object.entries(asked)) {
			const file = join(folder, `${name}.html`);
			const made = await caskade(['report', args[0] as string, aid, ...args.slice(1), '--html', file, ...at]);
			assert.equal(made.code, 0, made.stderr);
			pages.set(name, file);
		}
	});
	after(() => browser?.close());

	for (const name of Object.keys(asked))
		test(`${name}: nothing is cut, hidden or unreadable, on screens light and dark, small and wide, and on paper`, async () => {
			const page = await browser.newPage();
			const errors: string[] = [];
			page.on('console', (message) => errors.push(message.text()));
			page.on('pageerror', (error) => errors.push(String(error)));
			await page.goto(pathToFileURL(pages.get(name) as string).href);
			for (const [width, scheme, media] of [
				[390, 'light', 'screen'],
				[390, 'dark', 'screen'],
				[1400, 'light', 'screen'],
				[1400, 'dark', 'screen'],
				[paper, 'light', 'print'],
			] as const) {
				await page.setViewportSize({ width, height: 900 });
				await page.emulateMedia({ media, colorScheme: scheme });
				// What scrolls says so once it is drawn.
				await page.evaluate(
					'new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))',
				);
				const problems = await problemsOf(page, media === 'print');
				assert.deepEqual([...errors, ...problems], [], `${name}, ${media} of ${width} pixels, ${scheme}`);
				const folder = process.env.SCREENSHOTS;
				if (folder)
					await page.screenshot({
						path: join(folder, `${name}-${media}-${width}-${scheme}.png`),
						fullPage: true,
					});
			}
			await page.close();
		});
});

const problemsScript = readFileSync(join(import.meta.dirname, 'page-problems.js'), 'utf8');

/** What a reader would complain about. */
function problemsOf(page: Page, isPaper: boolean): Promise<string[]> {
	return page.evaluate(`${problemsScript};pageProblems(${isPaper})`);
}
