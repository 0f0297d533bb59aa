import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quick } from '../../quick.ts';
import { consoleOfDemo } from './here.ts';

const aid = 'c-a-demo-local';
const pages = [
	'',
	'attribution',
	'attribution?by=campaign',
	...(quick
		? []
		: [
				'attribution?by=channel,campaign&model=first',
				'attribution?by=source&model=linear',
				'attribution?with=first',
				'attribution?channel=email',
			]),
	'journeys',
	'revenue',
	'retention',
	'scores',
	'experiments',
	'segments',
	'?channel=email',
	'revenue?evt=membership',
];
const periods = quick ? ['all'] : ['7', '28', '91', '364', 'all'];

interface Row {
	readonly renewals: number;
	readonly refunds: number;
	readonly acquisitionPence: number;
	readonly renewalPence: number;
	readonly refundPence: number;
	readonly netPence: number;
	readonly movedPence: number | null;
}

/** What a figure that leads to some rows is the sum of. */
function sumOf(rows: readonly Row[], query: URLSearchParams, isMoney: boolean): number {
	const sum = (of: (row: Row) => number) => rows.reduce((total, row) => total + of(row), 0);
	const [having, moved] = [query.get('having'), query.get('moved')];
	if (moved !== null) return isMoney ? sum((row) => row.movedPence ?? 0) : rows.length;
	if (!isMoney)
		return having === 'renewal'
			? sum((row) => row.renewals)
			: having === 'refund'
				? sum((row) => row.refunds)
				: rows.length;
	if (having === null) return sum((row) => row.netPence);
	return sum((row) => row[`${having}Pence` as 'renewalPence']);
}

test('every figure of every page that leads to subscriptions or visitors is the sum of exactly these', async (t) => {
	const { browser, errors } = await consoleOfDemo(t, quick ? 400 : 2000);
	const wrong: string[] = [];
	const followed = new Map<string, number>();
	const rowsOf = new Map<string, readonly Row[]>();
	const sizes = new Map<string, number>();
	/** How many visitors a page lists, on all of its pages. */
	const visitorsAt = async (address: string) => {
		const vids = new Set<string>();
		for (let next: string | undefined = address; next; ) {
			const { body } = await browser.whole(next);
			for (const [, vid = ''] of body.matchAll(/\/visitors\/([0-9a-f]{32})"/g)) vids.add(vid);
			next = / <a href="([^"]*)">Next</.exec(body)?.[1]?.replaceAll('&#38;', '&').split('#')[0];
		}
		return vids.size;
	};
	for (const page of pages)
		for (const period of periods) {
			const { status, body } = await browser.whole(
				`/console/${aid}/${page}${page.includes('?') ? '&' : '?'}period=${period}`,
			);
			assert.equal(status, 200, page);
			for (const [, href = '', text = ''] of body.matchAll(
				/<a href="([^"]*\/visitors\?[^"]*)"[^>]*>([\d,]+)<\/a>/g,
			)) {
				const address = href.replaceAll('&#38;', '&');
				const listed = sizes.get(address) ?? (await visitorsAt(address));
				sizes.set(address, listed);
				if (String(listed) !== text.replaceAll(',', ''))
					wrong.push(`${page} ${period}: ${text} leads to ${listed} visitors: ${address}`);
				followed.set(page, (followed.get(page) ?? 0) + 1);
			}
			for (const [, href = '', content = ''] of body.matchAll(
				/<a href="([^"]*\/subscriptions\?[^"]*)"[^>]*>(.*?)<\/a>/gs,
			)) {
				const address = href.replaceAll('&#38;', '&');
				const text = (
					/class="value">([^<]+)/.exec(content)?.[1] ?? content.replaceAll(/<[^>]+>/g, '')
				).trim();
				const figure = Number(text.replaceAll('−', '-').replaceAll(/[£,\u2060+]/gu, ''));
				if (text === '' || Number.isNaN(figure)) continue;
				const [path = '', query = ''] = address.split('?');
				const rows =
					rowsOf.get(address) ??
					(JSON.parse((await browser.get(`${path}/subscriptions.json?${query}`)).body).rows as Row[]);
				rowsOf.set(address, rows);
				const isMoney = text.includes('£');
				const sum = sumOf(rows, new URLSearchParams(query), isMoney);
				const told = isMoney ? Math.round(100 * figure) : figure;
				if (Math.abs(sum) !== Math.abs(told))
					wrong.push(`${page} ${period}: ${text} leads to ${sum}: ${query}`);
				followed.set(page, (followed.get(page) ?? 0) + 1);
			}
		}
	assert.deepEqual(wrong.slice(0, 20), [], `${wrong.length} figures`);
	for (const page of ['', 'attribution', 'attribution?by=campaign', 'revenue', 'retention'])
		assert.ok((followed.get(page) ?? 0) > (quick ? 3 : 5), `${page}: ${followed.get(page)} links`);
	for (const page of ['scores', 'segments'])
		assert.ok((followed.get(page) ?? 0) > (quick ? 0 : 1), `${page}: ${followed.get(page)} links`);
	t.diagnostic(`${[...followed.values()].reduce((sum, count) => sum + count, 0)} figures followed`);
	assert.deepEqual(errors, []);
});
