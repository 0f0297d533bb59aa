import assert from 'node:assert/strict';
import { test } from 'node:test';
import { moneyOf } from '../../../../src/core/format/money.ts';
import { formatShare } from '../../../../src/core/format/numbers.ts';
import { utcDay } from '../../../../src/kit/reading/kept-days.ts';
import { addDays } from '../../../../src/kit/reports/calendar.ts';
import { consoleOfDemo } from '../../../assembly/console/here.ts';
import { caskade, caskadeJson } from '../../../process.ts';

const aid = 'c-a-demo-local';

test('a page, its CSV, its JSON and the command tell the same figures; what is not chosen rightly is told', async (t) => {
	const { browser, errors, now, at } = await consoleOfDemo(t, 300, 'analyst');
	// The demo ends today, whatever day that is.
	const today = utcDay(now);
	const [from, to] = [addDays(today, -280), addDays(today, -28)];
	const period = ['--from', from, '--to', to];
	const query = `?from=${from}&to=${to}`;
	const args = ['report', 'activity', aid, '--every', 'month', ...period, ...at];
	const told = (await caskadeJson(args)) as { rows: { netPence: number; hits: number }[]; totals: object };
	assert.ok(told.rows.length > 3);
	const file = async (extension: string) =>
		(await browser.get(`/console/${aid}/reports/activity.${extension}${query}&every=month`)).body;
	const { rows, totals } = JSON.parse(await file('json'));
	assert.deepEqual({ rows, totals }, { rows: told.rows, totals: told.totals });
	// Excel takes a file without a byte order mark for one in the language's old encoding.
	assert.equal(await file('csv'), `\ufeff${(await caskade([...args, '--csv'])).stdout}`);
	const { status, body } = await browser.get(`/console/${aid}/${query}`);
	assert.equal(status, 200);
	const net = told.rows.reduce((sum, { netPence }) => sum + netPence, 0);
	assert.ok(body.includes(`<span class="value">${moneyOf('GBP')(net)}</span>`), 'the tile of net revenue');

	const [{ events, unjoined }] = (
		(await caskadeJson(['report', 'coverage', aid, '--by', 'none', ...period, ...at])) as {
			rows: [{ events: number; unjoined: number }];
		}
	).rows;
	assert.ok(body.includes(`<span class="value">${formatShare(1 - unjoined / events)}</span>`), 'joined');
	const [summerFrom, summerTo] = [addDays(today, -150), addDays(today, -87)];
	const compared = async (compare: string) =>
		(
			(await caskadeJson([
				'report',
				'activity',
				aid,
				'--every',
				'month',
				'--from',
				summerFrom,
				'--to',
				summerTo,
				'--compare',
				compare,
				...at,
			])) as {
				compared: { from: string; rows: { netPence: number }[] };
			}
		).compared;
	const before = await compared('previous');
	const against = await browser.get(`/console/${aid}/?from=${summerFrom}&to=${summerTo}`);
	const netBefore = before.rows.reduce((sum, { netPence }) => sum + netPence, 0);
	assert.notEqual(netBefore, 0);
	assert.match(
		against.body,
		new RegExp(`<span class="change">(from|than) ${moneyOf('GBP')(netBefore)}</span>`),
		'net revenue before',
	);
	assert.equal((await compared('year')).from, addDays(summerFrom, -364), 'the same weekdays');
	assert.match(
		(await browser.get(`/console/${aid}/${query}&compare=year`)).body,
		/aria-current="true">Compared with a year earlier/,
	);

	for (const page of ['', 'attribution', 'journeys', 'revenue', 'retention', 'subscriptions']) {
		const shown = await browser.get(`/console/${aid}/${page}${query}`);
		assert.equal(shown.status, 200, `${page}: ${errors}`);
		assert.match(shown.body, /<section class="figure"/, page);
		assert.ok(
			(shown.body.match(/<\w/g) ?? []).length < 3000,
			`${page} has ${(shown.body.match(/<\w/g) ?? []).length} elements`,
		);
		assert.doesNotMatch(shown.body, / style=|<script(?! type="module" src="\/console\/)/, page);
	}
	const behind = (await caskadeJson(['report', 'subscriptions', aid, ...period, ...at])) as {
		totals: object;
	};
	const rowsArgs = ['report', 'subscriptions', aid, '--having', 'refund', ...period, ...at];
	const rowsFile = `/console/${aid}/subscriptions/subscriptions.csv${query}&having=refund`;
	assert.equal((await browser.get(rowsFile)).body, `\ufeff${(await caskade([...rowsArgs, '--csv'])).stdout}`);
	assert.deepEqual(behind.totals, totals, 'rows add up to what they are behind');
	const ended = await browser.get(`/console/${aid}/subscriptions${query}&moved=cancelled`);
	const { rows: months } = JSON.parse(
		(await browser.get(`/console/${aid}/reports/movement.json${query}`)).body,
	) as { rows: { subscriptions: { cancelled: number } }[] };
	const cancelled = months.reduce((sum, row) => sum + row.subscriptions.cancelled, 0);
	// On some days the demo has none in this period.
	assert.match(ended.body, /moved=cancelled" aria-current="true">Cancelled<\/a>/);
	assert.equal(
		ended.body.match(/<th scope="row"/g)?.length ?? 0,
		Math.min(cancelled, 50),
		'as Revenue counts them',
	);
	assert.doesNotMatch(ended.body, />Gave notice</, 'the account has no name for it');
	const { body: ofEmail } = await browser.get(`/console/${aid}/subscriptions${query}&channel=email`);
	const chosen = ofEmail.split('<tr>').filter((row) => row.includes('scope="row"'));
	assert.match(ofEmail, />chosen touch</);
	assert.notEqual(chosen.length, 0);
	for (const row of chosen) assert.match(row, />email/, row);
	const { body: ofOne } = await browser.get(`/console/${aid}/retention?channel=email&period=all`);
	assert.doesNotMatch(ofOne, /by channel<|>paid search</, 'whose first touch is another');
	assert.match(ofOne, /They are not split by channel/);
	const byEmail = `/visitors${query}&channel=email`;
	const { body: came } = await browser.get(`/console/${aid}${byEmail}`);
	const [vid] = /[0-9a-f]{32}/.exec(came.split('<h2>Who came')[1] ?? '') ?? [];
	const { body: life } = await browser.get(`/console/${aid}/visitors/${vid}/timeline.json`);
	assert.ok(
		(JSON.parse(life).timeline as { at: string; channel?: string }[]).some(
			({ at: day, channel }) => channel === 'email' && day >= from && day < to,
		),
		'who came by the channel in the period',
	);
	const { body: visitors } = await browser.get(`/console/${aid}/visitors`);
	const vids = [...visitors.matchAll(/\/visitors\/([0-9a-f]{32})/g)].map(([, vid]) => vid as string);
	assert.ok(vids.length > 20);
	for (const vid of vids.slice(0, 3)) {
		const args = ['visitor', 'show', aid, vid, ...at];
		const path = `/console/${aid}/visitors/${vid}`;
		const shown = await browser.get(path);
		assert.equal(shown.status, 200);
		assert.ok((shown.body.match(/<\w/g) ?? []).length < 3000, 'elements of a visitor');
		assert.deepEqual(JSON.parse((await browser.get(`${path}/timeline.json`)).body), await caskadeJson(args));
	}
	for (const kind of ['movement', 'ltv', 'renewals'])
		for (const period of ['period=all', 'period=91']) {
			const { status, body } = await browser.get(`/console/${aid}/reports/${kind}.csv?${period}`);
			assert.equal(status, 200, `${kind}, ${period}: ${body}`);
		}
	for (const [wrong, message] of [
		['from=2026-02-30', /2026-02-30 is not a date/],
		['period=5', /period must be 7, 28, 91, 364 days, this-month, last-month, or all/],
		['segment=none', /none/],
		['timezone=Mars', /no time zone Mars/],
	] as const) {
		const answer = await browser.get(`/console/${aid}/?${wrong}`);
		assert.equal(answer.status, 400, wrong);
		assert.match(answer.body, message);
	}
	assert.deepEqual(errors, []);
});
