import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { storeHistory } from '../../../../src/capabilities/history/store/past-history.ts';
import { keepServedScores } from '../../../../src/capabilities/training/store/served-scores.ts';
import { visitorsFrom } from '../../../../src/core/store/account/reading/visitors.ts';
import { foldAll } from '../../../../src/core/store/fold-all.ts';
import { openFor } from '../../../core/store/engines.ts';
import { assertMisused, assertRefused, caskade, caskadeJson } from '../../../process.ts';
import { allReports } from '../../../reports.ts';
import { temporaryFolder } from '../../../support.ts';
import { keepJudgedModel } from '../judged-model.ts';

interface Rows {
	readonly rows: readonly Readonly<Record<string, unknown>>[];
}

test('reports are tables, JSON, CSV and pages, in the time zone of the account', async (t) => {
	const folder = temporaryFolder(t);
	const at = ['--database', `sqlite:${folder}`];
	const aid = 'c-a-demo-local';
	await caskade(['demo', '--visitors', '1000', '--days', '90', ...at]);
	const changed = ['--timezone', 'Europe/London', '--payment-provider', 'pay.example.com'];
	const account = (await caskadeJson(['account', 'update', aid, ...changed, ...at])) as Record<
		string,
		unknown
	>;
	assert.deepEqual([account.timezone, account.paymentProviders], ['Europe/London', ['pay.example.com']]);
	assertRefused(await caskade(['account', 'update', aid, '--timezone', 'Mars', ...at]), /no time zone Mars/);

	const spending = join(folder, 'spending.csv');
	writeFileSync(
		spending,
		'day,channel,campaign,pence\n2026-01-31,email,,1234\n2026-01-31,"paid search",brand,500\n',
	);
	const spentInAll = async () =>
		((await caskadeJson(['report', 'spend', aid, '--by', 'none', ...at])) as Rows).rows.map(
			({ spentPence, netPence }) => [Number(spentPence), netPence] as const,
		);
	const [[spentOfDemo, revenue] = [0, 0]] = await spentInAll();
	const imported = await caskade(['spend', 'import', aid, spending, ...at]);
	assert.equal(imported.stdout, '2 rows of spending, £17.34 in all.\n');
	writeFileSync(spending, 'day,channel,pence\n2026-02-30,email,1\n2026-02-01,,x\n');
	assertRefused(
		await caskade(['spend', 'import', aid, spending, ...at]),
		/line 2: 2026-02-30 is not a date.* line 3: channel must .* Nothing is stored\./,
	);
	const refusedSpending = async (content: string, sentence: RegExp) => {
		writeFileSync(spending, content);
		assertRefused(await caskade(['spend', 'import', aid, spending, ...at]), sentence);
	};
	await refusedSpending(
		'Day,channel,pence\n2026-02-01,email,1\n',
		/has no column day; its header reads "Day,/,
	);
	await refusedSpending('[{"day":"2026-02-01"}]', /spending\.csv is a JSON array/);
	await refusedSpending(
		'day,channel,pence\n2026-02-01,email\n',
		/line 2: it has 2 cells, but the header has 3\./,
	);
	await refusedSpending('day,channel,pence,pence\n2026-02-01,email,1,2\n', /has several columns pence;/);
	await refusedSpending(
		'day,channel,pence\n2026-02-01,#N/A,1\n',
		/line 2: channel and campaign must be no errors/,
	);
	await refusedSpending(
		'day,channel,pence,Currency\n2026-02-01,email,1,usd\n',
		/line 2: Currency must be GBP, what the account's amounts are in, not USD\./,
	);
	assertRefused(await caskade(['spend', 'import', aid, folder, ...at]), /is a folder\./);
	assertRefused(
		await caskade(['spend', 'import', aid, `${folder}/none`, ...at]),
		/There is no file .*none\./,
	);
	writeFileSync(spending, gzipSync('\ufeffday;channel;pence\r\n2026-02-01; email ;0\r\n'));
	const one = await caskade(['spend', 'import', aid, spending, ...at]);
	assert.equal(one.stdout, '1 row of spending, £0.00 in all.\n');

	// What pages were told.
	const store = await openFor(t, at[1] as string);
	const { id } = await store.control.account(aid);
	const told = (await store.read(id, visitorsFrom(0, 50, 1))).map(({ vid, profile }, place) => ({
		vid,
		goal: 'subscription',
		atMs: profile.lastAtMs,
		band: 'low' as const,
		millionths: 1000 * place,
	}));
	await store.transact(id, () => keepServedScores(told));
	await keepJudgedModel(store, id);
	// The demo has no trials.
	const trial = { tid: 'T-trial', subid: 'S-trial', cid: null, evt: 'membership', rvn: 0 };
	await store.transact(id, () => storeHistory([], [{ ...trial, receivedAtMs: Date.now() - 86_400_000 }]));
	await foldAll(store, id);
	assertRefused(await caskade(['report', 'ltv', aid, 'offer', ...at]), /ltv is not about an experiment/);
	for (const { kind, title } of allReports) {
		const page = join(folder, 'page.html');
		const [shown, csv] = await Promise.all([
			caskade(['report', kind, aid, '--html', page, ...at]),
			caskade(['report', kind, aid, '--csv', ...at]),
		]);
		assert.match(
			shown.stdout,
			/^c-a-demo-local, (?:[^,]+, )?as known on \d+ \w+ \d{4} at \d\d:\d\d \(Europe\/London\)/,
			kind,
		);
		assert.ok(csv.stdout.split('\r\n').length > 2, kind);
		const html = readFileSync(page, 'utf8');
		assert.match(html, /^<!doctype html>/);
		assert.doesNotMatch(html, /(src|href)=|<script|url\(/, 'it loads nothing');
		const [, headers = ''] = /\n\n(.+)\n/.exec(shown.stdout) ?? [];
		assert.equal(new Set(headers.split(/ {2,}/)).size, headers.split(/ {2,}/).length, `${kind}: ${headers}`);
		// A list has no picture, and neither has a summary.
		if (kind !== 'subscriptions' && kind !== 'summary')
			assert.match(html, /<svg|<td class="number shaded"/, kind);
		assert.ok(html.includes(`<h1>${title}</h1>`), kind);
	}
	const report = (await caskadeJson(['report', 'attribution', aid, '--model', 'linear,markov', ...at])) as {
		totals: { netPence: number };
		rows: { models: Record<string, { netPence: number }> }[];
	};
	for (const model of ['linear', 'markov'])
		assert.equal(
			report.rows.reduce((sum, { models }) => sum + (models[model]?.netPence ?? 0), 0),
			report.totals.netPence,
		);
	const { stdout: paths } = await caskade(['report', 'paths', aid, ...at]);
	assert.match(
		paths,
		// Where there are more than are shown, the heading says of how many.
		/\nDays\n.+\nTouches before a subscription.*\n.+\nTransitions.*\n.+\nPages before conversion.*\n/s,
	);
	const { stdout: renewals } = await caskade(['report', 'renewals', aid, '--csv', ...at]);
	assert.match(renewals, /^channel,evt,.*,age,eligible,renewed,atRisk,stayed,survivors,low,high\r\n/);
	const { rows: moved } = (await caskadeJson(['report', 'movement', aid, ...at])) as {
		rows: { subscriptions: Record<string, number>; recurringPence: Record<string, number> }[];
	};
	const listed = (await caskadeJson(['subscription', 'list', aid, ...at])) as Record<string, unknown>[];
	const there = listed.filter(({ state }) => !['ended', 'trial'].includes(String(state)));
	assert.equal(moved.at(-1)?.subscriptions.closing, there.length);
	assert.equal(
		moved.at(-1)?.recurringPence.closing,
		there.reduce((sum, { recurringPence }) => sum + (recurringPence as number), 0),
	);
	// Its own, or that of its price. Nobody has renewed an annual plan in 90 days.
	const cadences = new Set(there.map(({ cadenceDays }) => cadenceDays));
	assert.deepEqual(cadences.difference(new Set([30])), new Set([30.44, 365.25]));
	assertRefused(
		await caskade(['report', 'attribution', aid, '--by', 'price', ...at]),
		/attribution is about touches, which have no price\. It groups by one or two of channel/,
	);
	assertMisused(
		await caskade(['report', 'movement', aid, '--every', 'year', ...at]),
		/It must be day or week or month/,
	);
	const bySource = ['report', 'spend', aid, '--by', 'source', ...at];
	assertRefused(await caskade(bySource), /Group spend by channel or channel,campaign/);
	const [coverage] = ((await caskadeJson(['report', 'coverage', aid, '--by', 'none', ...at])) as Rows).rows;
	const { rows: months } = (await caskadeJson(['report', 'coverage', aid, ...at])) as Rows;
	assert.equal(
		coverage?.events,
		months.reduce((sum, { events }) => sum + (events as number), 0),
	);
	assert.deepEqual(await spentInAll(), [[spentOfDemo + 1734, report.totals.netPence]]);
	assert.equal(revenue, report.totals.netPence);
	assertRefused(
		await caskade(['report', 'coverage', aid, '--by', 'channel', ...at]),
		/coverage is always by month and evt/,
	);
	assertRefused(await caskade(['report', 'ltv', aid, '--long', ...at]), /ltv does not use --long/);
	const unused = ['--top', '3', '--no-intervals', '--evt', 'newsletter', ...at];
	assertRefused(
		await caskade(['report', 'ltv', aid, ...unused]),
		/The report ltv does not use --no-intervals, --top; leave it out\./,
	);
	assertRefused(
		await caskade(['report', 'coverage', aid, '--segment', 'subscriber', ...at]),
		/The report coverage does not use --segment;/,
	);
	const filtered = await caskade([
		'report',
		'ltv',
		aid,
		'--segment',
		'subscriber',
		'--evt',
		'newsletter',
		...at,
	]);
	assert.match(filtered.stdout, /\nOnly evt newsletter, segment subscriber\n/);
	assertRefused(await caskade(['report', 'ltv', aid, '--segment', 'none', ...at]), /has no segment none;/);
	assertMisused(await caskade(['report', 'ltv', aid, '--from', '2026-13-01', ...at]), /is not a date/);
	assertMisused(await caskade(['report', 'ltv', aid, '--by', 'page', ...at]), /one or two of channel/);
	assertRefused(
		await caskade(['report', 'ltv', aid, '--from', '2026-02-01', '--to', '2026-02-01', ...at]),
		/to must be later than from/,
	);
});
