import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { assertMisused, assertRefused, caskade, caskadeJson } from '../../../process.ts';
import { temporaryFolder } from '../../../support.ts';

const aid = 'c-a-acme-uk';
const day = (days: number) => new Date(Date.UTC(2026, 0, 1) + days * 86_400_000).toISOString();

/** A history of payments in days after 1 January 2026, in no order. */
function events(): string[] {
	const paid = (subid: string, days: number, rvn: number, evt = 'membership') =>
		JSON.stringify({
			type: 'subscription',
			tid: `${subid}-${days}-${rvn}`,
			subid,
			evt,
			rvn,
			at: day(days),
		});
	const monthly = [0, 30, 60, 90, 120, 150, 180].map((at) => paid('monthly', at, 999));
	return [
		...monthly.reverse(),
		...[paid('annual', 10, 9990), paid('paused', 5, 999), paid('paused', 35, 999), paid('paused', 170, 1099)],
		...[paid('refunded', 160, 999), paid('refunded', 162, -999, 'refund'), paid('due', 150, 999)],
		...[paid('only refunds', 100, -5), paid('gift', 100, 2000, 'gift'), paid('free', 185, 0, 'newsletter')],
	];
}

test('subscriptions are listed with their state and cadence, as of now and as of a moment, and shown as a timeline', async (t) => {
	const folder = temporaryFolder(t);
	const at = ['--database', `sqlite:${folder}`];
	await caskade(['account', 'create', aid, '--client', 'acme', ...at]);
	const file = join(folder, 'history.ndjson');
	writeFileSync(file, `${events().join('\n')}\n`);
	await caskade(['import', aid, file, ...at]);
	const asOf = ['--as-of', day(190), ...at];
	const list = (await caskadeJson(['subscription', 'list', aid, ...asOf])) as Record<string, unknown>[];
	assert.deepEqual(list[0], {
		subid: 'monthly',
		vid: null,
		evt: 'membership',
		state: 'active',
		cadenceDays: 30.44,
		cadenceFrom: 'own',
		trialAt: null,
		startedAt: day(0),
		dueAt: '2026-07-30T10:30:00.000Z',
		cancelledAt: null,
		endedAt: null,
		endedByWill: null,
		recurringPence: 999,
	});
	const lines = list.map(({ subid, state, cadenceDays, cadenceFrom, endedAt, recurringPence }) =>
		[subid, state, cadenceDays, cadenceFrom, endedAt, recurringPence].join(' '),
	);
	assert.deepEqual(lines.slice(1), [
		'paused reactivated 30.44 own  1099',
		'annual active 365.25 event  833',
		'gift active 91.31 account  667',
		'due at risk 30.44 price  999',
		`refunded ended 30.44 price ${day(162)} 0`,
		'free trial 30.44 account  0',
	]);

	const then = (await caskadeJson(['subscription', 'list', aid, '--as-of', day(40), ...at])) as typeof list;
	assert.deepEqual(
		then.map(({ subid, state, cadenceFrom }) => `${subid} ${state} ${cadenceFrom}`),
		['monthly active own', 'paused active own', 'annual active event'],
	);
	const atRisk = (await caskadeJson([
		...['subscription', 'list', aid, '--state', 'at risk', '--evt', 'membership', ...asOf],
	])) as typeof list;
	assert.deepEqual(
		atRisk.map(({ subid }) => subid),
		['due'],
	);
	const set = (await caskadeJson([
		...['subscription', 'list', aid, '--period', 'gift=365', 'newsletter=7', ...asOf],
	])) as typeof list;
	assert.deepEqual(
		set.filter(({ cadenceFrom }) => cadenceFrom === 'account').map(({ cadenceDays }) => cadenceDays),
		[365, 7],
	);
	await caskade(['account', 'update', aid, '--renewal-days', 'membership=28', ...at]);
	const account = (await caskadeJson(['subscription', 'list', aid, ...asOf])) as typeof list;
	assert.deepEqual([account[0]?.cadenceDays, account[0]?.cadenceFrom], [28, 'account']);
	await caskade(['account', 'update', aid, '--no-renewal-days', ...at]);

	const shown = (await caskadeJson(['subscription', 'show', aid, 'paused', ...asOf])) as {
		timeline: readonly Readonly<Record<string, unknown>>[];
	};
	assert.deepEqual(
		shown.timeline.map(({ subid: _, ...entry }) => Object.values(entry).join(' ')),
		[
			`${day(5)} acquisition membership 999 active 999`,
			`${day(35)} renewal membership 999 active 999`,
			// Due after a month, which is not a whole number of days.
			`2026-03-07T10:30:00.000Z ended   ended 0`,
			`${day(170)} renewal membership 1099 reactivated 1099`,
		],
	);
	const text = await caskade(['subscription', 'show', aid, 'refunded', ...asOf]);
	assert.match(
		text.stdout,
		/\nstate +ended\n(.*\n)+.* acquisition .* £9\.99 +active +£9\.99\n.* refund .* −£9\.99 +ended +£0\.00\n$/,
	);
	const due = await caskade(['subscription', 'show', aid, 'due', ...asOf]);
	assert.match(due.stdout, / due +- +- +at risk +£9\.99\n$/);
	assertRefused(await caskade(['subscription', 'show', aid, 'none', ...at]), /has no subscription none\./);
	assertMisused(await caskade(['subscription', 'list', aid, '--as-of', '2126-01-01', ...at]), /in the past/);
	assertMisused(
		await caskade(['subscription', 'list', aid, '--state', 'lost', ...at]),
		/active, cancelled, at risk, ended/,
	);
});

test('one event alone, or none, is told without a cadence', async (t) => {
	const folder = temporaryFolder(t);
	const at = ['--database', `sqlite:${folder}`];
	await caskade(['account', 'create', aid, '--client', 'acme', ...at]);
	assert.deepEqual(await caskadeJson(['subscription', 'list', aid, ...at]), []);
	assert.equal((await caskade(['subscription', 'list', aid, ...at])).stdout, 'No subscriptions.\n');
	const file = join(folder, 'history.ndjson');
	writeFileSync(file, events().slice(-2, -1).join('\n'));
	await caskade(['import', aid, file, ...at]);
	assert.deepEqual(await caskadeJson(['subscription', 'list', aid, ...at]), [
		{
			subid: 'gift',
			vid: null,
			evt: 'gift',
			state: 'active',
			cadenceDays: null,
			cadenceFrom: null,
			trialAt: null,
			startedAt: day(100),
			dueAt: null,
			cancelledAt: null,
			endedAt: null,
			endedByWill: null,
			recurringPence: 0,
		},
	]);
	const { stdout } = await caskade(['report', 'movement', aid, ...at]);
	assert.match(stdout, /It is unknown how often 1 of 1 subscriptions are paid.*--period/);
});
