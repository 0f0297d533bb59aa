import assert from 'node:assert/strict';
import { test } from 'node:test';
import { demoAid as aid } from '../../../src/capabilities/demo/demo-account.ts';
import { dayMs } from '../../../src/core/durations.ts';
import { isoTime } from '../../../src/core/format/iso-time.ts';
import { consoleOfDemo } from './here.ts';

const textOf = (body: string) => body.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
const tileOf = (body: string, name: string) =>
	new RegExp(`name">${name}</span> <span class="value">([^<]*)<`).exec(body)?.[1];
const unescaped = (href = '') => href.replaceAll('&#38;', '&').split('#')[0] as string;

// What users of other products' dashboards reported, tried here: see test/street/README.md.
test('periods, comparisons and files are what somebody takes them for', async (t) => {
	const { browser, errors, now } = await consoleOfDemo(t, 1500);
	const today = isoTime(now).slice(0, 10);
	const page = async (path: string) => {
		const { status, body } = await browser.whole(`/console/${aid}/${path}`);
		assert.equal(status, 200, path);
		return body;
	};
	const json = async (path: string) => {
		const { body } = await browser.get(`/console/${aid}/${path}`);
		return JSON.parse(body);
	};

	// GrowthBook #6466: the last 7 days are 8; PostHog #4444: another period leaves days out.
	const activity = /reports\/activity\.json\?[^"]*/;
	const daysOf = async (path: string) => {
		const { rows } = await json(unescaped(activity.exec(await page(path))?.[0]));
		return rows.map(({ day }: { day: string }) => day);
	};
	const week = Array.from({ length: 7 }, (_, place) => isoTime(now - (6 - place) * dayMs).slice(0, 10));
	assert.deepEqual(await daysOf('?period=7'), week);
	const [, from28 = ''] = /<a href="([^"]*period=7)"/.exec(await page(`?from=${today}`)) ?? [];
	assert.equal(unescaped(from28), `/console/${aid}/?period=7`, 'a preset takes no day of the form along');

	// GoatCounter #337, #431: on one page, some figures are of the zone's day and others of UTC's.
	for (const zone of ['Asia/Tokyo', 'America/Los_Angeles', 'UTC']) {
		const query = `from=${week[3]}&to=${week[4]}&timezone=${zone}`;
		const told = await page(`?${query}`);
		const { rows } = await json(`reports/attribution.json?${query}`);
		const arrivals = rows.reduce((sum: number, row: { arrivals: number }) => sum + row.arrivals, 0);
		assert.equal(tileOf(told, 'Arrivals'), String(arrivals), zone);
	}

	// Lightdash #14110: a month that is not over is compared with a whole one.
	const { from, to, compared } = await json('reports/activity.json?period=this-month&compare=previous');
	const lengthOf = (of: { from: string; to: string }) => (Date.parse(of.to) - Date.parse(of.from)) / dayMs;
	assert.ok(
		Math.abs(lengthOf(compared) - lengthOf({ from, to })) <= 6,
		JSON.stringify({ from, to, compared: [compared.from, compared.to] }),
	);

	// Maybe #1241, PostHog #11225: infinitely more than nothing.
	const first = await page('?from=2025-01-01&to=2026-12-01&compare=previous');
	assert.doesNotMatch(textOf(first), /Infinity|NaN|∞/);

	// Plausible #5928, Simple Analytics #255: all pages have one title.
	const shown = ['', 'attribution', 'campaigns', 'journeys', 'revenue', 'retention', 'scores', 'segments'];
	const titles = await Promise.all(
		shown.map(async (path) => /<title>([^<]*)<\/title>/.exec(await page(path))?.[1] ?? ''),
	);
	assert.equal(new Set(titles).size, shown.length);
	assert.ok(titles.every((title) => title.includes(aid)));

	// Umami #4284, #4114, PostHog #849: filters and periods are lost by going on.
	const filtered = await page('revenue?period=91&channel=email');
	for (const path of ['', 'attribution', 'retention'])
		assert.ok(filtered.includes(`href="/console/${aid}/${path}?channel=email&#38;period=91"`), path);

	// Matomo #23285: whoever does not see hears of an export, not of what.
	const revenue = await page('revenue?period=91');
	const files = [...revenue.matchAll(/aria-label="(?:CSV|JSON): [^"]*">(?:CSV|JSON)</g)].map(
		([name]) => name,
	);
	assert.ok(files.length >= 8, String(files.length));
	assert.equal(new Set(files).size, files.length);

	// Matomo #17087: what is compared with opens the other period.
	const [now28 = '', before28 = ''] = (await page('attribution?period=28&compare=previous')).split(
		'Compared',
	);
	assert.match(now28, /subscriptions\?[^"]*from=/);
	assert.doesNotMatch(before28.split('</table>')[0] ?? '', /<td[^>]*><a /);

	// JoinMarket #1425, Lightdash #17228, sv-grid #55: a file has the rows of the shown page only.
	const second = await page('subscriptions?period=all&table=subscriptions.0&sort=-netPence&row=50');
	const all = Number(/Rows 51 to \d+ of ([\d,]+)\./.exec(second)?.[1]);
	const csv = unescaped(/href="([^"]*subscriptions\.csv[^"]*)"/.exec(second)?.[1]);
	const lines = (await browser.get(csv)).body.trim().split('\n');
	assert.ok(all > 50);
	assert.equal(lines.length - 1, all);

	// SigNoz #8923: a page beyond the last one shows nothing, and no way back.
	const beyond = await page('subscriptions?period=all&table=subscriptions.0&row=99999');
	assert.match(beyond, new RegExp(`Rows (\\d+)1 to ${all} of ${all}\\. <a [^>]*>Before<`));
	assert.deepEqual(errors, []);
});
