import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeMovement } from '../../../src/capabilities/reports/movement.ts';
import { describeRenewals } from '../../../src/capabilities/reports/renewals.ts';
import { type TriedRow, trialsReport } from '../../../src/capabilities/reports/trials.ts';
import { subscriptionOf } from '../../../src/core/domain/subscription-steps.ts';
import { dayMs } from '../../../src/core/durations.ts';
import { seededRandom } from '../../../src/kit/random.ts';
import { Calendar } from '../../../src/kit/reports/calendar.ts';
import { type CoursedJourney, coursesOf, isPaid } from '../../../src/kit/reports/courses.ts';
import { some } from '../../quick.ts';
import { allTime, day0Ms, journey, touch } from './made-up.ts';

const utc = new Calendar('UTC');
const asOfDay = (day: number) => day0Ms + day * dayMs;
const monthlyFrom = (day: number, until: number) =>
	Array.from({ length: Math.ceil((until - day) / 30.4375) }, (_, n) => [day + n * 30.4375, 499] as const);

interface TriedBusiness {
	readonly trialPence: number;
	readonly trialDays: number;
	readonly subscriptions: number;
	readonly days: number;
}

/** Trials of which a bit more than half are paid for, and then a tenth leave each month, with the truth about them. */
function simulated({ trialPence, trialDays, subscriptions, days }: TriedBusiness, seed = 1) {
	const random = seededRandom(seed);
	const paid: { fromDay: number; toDay: number }[] = [];
	const journeys = Array.from({ length: subscriptions }, (_, n) => {
		// Of whole milliseconds.
		const began = Math.floor(random() * days * 64) / 64;
		const payments: [number, number][] = [[began, trialPence]];
		const begun = began + trialDays;
		const isConverted = random() < 0.525;
		if (isConverted && begun < days) {
			let due = begun;
			while (due < days) {
				payments.push([due, 499]);
				due += 30.4375;
				if (random() < 0.1) break;
			}
			paid.push({ fromDay: begun, toDay: due < days ? due : Number.POSITIVE_INFINITY });
		}
		return journey(`S-${n}`, payments, [touch('email', began - 1)]);
	});
	return { journeys, paid };
}

for (const [trialPence, trialDays] of some(
	[
		[100, 7],
		[0, 14],
		[0, 30],
	],
	3,
) as readonly [number, number][])
	test(`churn, net retention, revenue and new are those of who pays, after trials of ${trialDays} days for ${trialPence}`, () => {
		const days = 720;
		const business = { trialPence, trialDays, subscriptions: 3000, days };
		const { journeys, paid } = simulated(business);
		const asOfMs = asOfDay(days);
		const all = coursesOf(journeys, {}, asOfMs);
		const spans = utc.spans('month', day0Ms, asOfMs).slice(0, -3);
		for (const { row, span } of describeMovement(all, { by: [], spans, asOfMs }).slice(6)) {
			const [from, to] = [(span.fromMs - day0Ms) / dayMs, (span.toMs - day0Ms) / dayMs];
			const there = paid.filter(({ fromDay, toDay }) => fromDay < from && toDay >= from);
			const stayed = there.filter(({ toDay }) => toDay >= to).length;
			const closing = paid.filter(({ fromDay, toDay }) => fromDay < to && toDay >= to).length;
			assert.ok(Math.abs((row.subscriptionChurn as number) - (1 - stayed / there.length)) <= 0.002);
			assert.ok(Math.abs((row.netRevenueRetention as number) - stayed / there.length) <= 0.002);
			assert.equal(
				row.subscriptions.new,
				paid.filter(({ fromDay }) => fromDay >= from && fromDay < to).length,
			);
			assert.ok(Math.abs(row.recurringPence.closing / (499 * closing) - 1) <= 0.005);
		}
		// One cohort, whatever became of the trial.
		const renewals = describeRenewals(all, { by: [], period: allTime, asOfMs });
		assert.equal(renewals.length, 1);
		assert.ok(Math.abs((renewals[0]?.survivors[0]?.share as number) - 0.9) < 0.03);
	});

async function trialRows(journeys: readonly CoursedJourney[], asOfMs: number, query: object = {}) {
	const source = {
		query: { by: [], every: null, ...query },
		period: allTime,
		asOfMs,
		calendar: utc,
		courses: async () => journeys,
	};
	type Source = Parameters<typeof trialsReport.make>[0];
	return (await trialsReport.make(source as unknown as Source)) as {
		rows: Readonly<Record<string, unknown>>[];
		warnings: readonly string[];
	};
}

test('trials are told with what became of them, and the rate of those whose time is over', async () => {
	const days = 720;
	const { journeys } = simulated({ trialPence: 0, trialDays: 14, subscriptions: 3000, days }, 7);
	const all = coursesOf(journeys, {}, asOfDay(days));
	const { rows } = await trialRows(all, asOfDay(days), { by: ['channel'] });
	const [row] = rows as [Record<string, number>];
	assert.equal(row.trials, 3000);
	assert.equal((row.converted as number) + (row.open as number) + (row.notConverted as number), row.trials);
	assert.ok((row.low as number) < 0.525 && (row.high as number) > 0.525);
	assert.deepEqual(row.daysToConvert, { p50: 14, p75: 14, p90: 14 });
	const { rows: months } = await trialRows(all, asOfDay(days), { every: 'month' });
	assert.equal(
		months.reduce((sum, { trials }) => sum + Number(trials), 0),
		3000,
	);
});

for (const cancelled of some([0.6, 0], 2))
	test(`what becomes of trials is what was likely, if ${100 * cancelled} % of those who leave cancel beforehand`, async () => {
		const [days, trialDays] = [420, 30];
		const random = seededRandom(12);
		const asOfMs = asOfDay(days);
		const events = Array.from({ length: 6000 }, (_, n) => {
			const began = Math.floor(random() * days * 64) / 64;
			// Half of those who pay do so when the trial is over, others before that, and some late.
			const until = began + trialDays * Math.min(1, 2 * random()) + (random() < 0.2 ? 10 * random() : 0);
			const [isConverted, isSaid] = [random() < 0.4, random() < cancelled];
			const later = isConverted
				? { day: until, revenuePence: 499, evt: 'newsletter' }
				: { day: began + trialDays * random(), revenuePence: 0, evt: isSaid ? 'goodbye' : 'none' };
			return [{ day: began, revenuePence: 0, evt: 'newsletter' }, later]
				.filter(({ evt }) => evt !== 'none')
				.map(({ day, ...event }) => ({
					...event,
					subid: `S-${n}`,
					atMs: Math.round(day0Ms + day * dayMs),
					shownAtMs: null,
				}));
		});
		const rowsAt = async (ms: number) => {
			const known = events.flatMap((own) => {
				const some = own.filter(({ atMs }) => atMs < ms);
				return some.length > 0 ? [{ subscription: subscriptionOf(some, null, 'goodbye'), path: [] }] : [];
			});
			const { rows } = await trialRows(coursesOf(known, { newsletter: trialDays }, ms), ms, {
				every: 'month',
			});
			return new Map(rows.map((row) => [row.month as string, row as unknown as TriedRow]));
		};
		const final = await rowsAt(asOfMs + 60 * dayMs);
		const sums = { told: 0, inside: 0, likely: 0, came: 0, off: 0, chance: 0 };
		for (let day = 150; day < days - 30; day += 19)
			for (const [month, { provisional, trials, converted }] of await rowsAt(asOfDay(day))) {
				// Of the month that is not over, more begin later.
				if (!provisional || month === utc.monthOf(asOfDay(day))) continue;
				const came = (final.get(month) as TriedRow).converted;
				const { low, likely, high } = provisional.converted;
				const rate = provisional.conversionRate;
				assert.ok(Math.abs(rate.likely - likely / trials) <= 0.5 / trials + 0.000_1);
				sums.told++;
				if (low <= came && came <= high) sums.inside++;
				sums.likely += likely - converted;
				sums.came += came - converted;
				sums.off += Math.abs(likely - came);
				sums.chance += Math.sqrt(high - converted) / 2;
			}
		const shown = JSON.stringify(sums);
		assert.ok(sums.told > 10 && sums.inside === sums.told, shown);
		assert.ok(Math.abs(sums.likely / sums.came - 1) < 0.1, shown);
		// No further off than tosses of so many coins are.
		assert.ok(sums.off < sums.chance && sums.off < 0.5 * sums.came, shown);
	});

test('who pays much later is converted, and no trial that is not over is counted in the rate', async () => {
	const all = coursesOf(
		[
			journey('late', [[0, 0], ...monthlyFrom(90, 120)]),
			journey('early', [[80, 0], ...monthlyFrom(85, 120)]),
			journey('none', [[0, 0]]),
			journey(
				'free for ever',
				[0, 30, 60, 90].map((day) => [day, 0] as const),
			),
		],
		{ newsletter: 30 },
		asOfDay(100),
	);
	assert.deepEqual(
		all.map(({ course, payments }) => [course?.state, payments.length]),
		[
			['active', 1],
			['active', 2],
			['trial ended', 0],
			['trial', 0],
		],
	);
	const [row] = (await trialRows(all, asOfDay(100))).rows;
	assert.deepEqual(row, {
		trials: 4,
		converted: 2,
		open: 0,
		notConverted: 2,
		decided: 3,
		conversionRate: 0.3333,
		low: 0.0615,
		high: 0.7923,
		daysToConvert: { p50: 5, p75: 90, p90: 90 },
		// Of the early one, the time is not over.
		provisional: {
			converted: { low: 2, likely: 2, high: 2 },
			conversionRate: { low: 0.5, likely: 0.5, high: 0.5 },
		},
	});
	const [later] = (await trialRows(all, asOfDay(200))).rows;
	assert.deepEqual([later?.conversionRate, later?.provisional], [0.5, null]);
});

test('a first month for £1, and half price for the first year, are subscriptions from their first payment on', () => {
	const asOfMs = asOfDay(900);
	const introduced = Array.from({ length: 6 }, (_, n) =>
		journey(`intro-${n}`, [[n, 100], ...monthlyFrom(n + 30.4375, 300)]),
	);
	const halved = Array.from({ length: 6 }, (_, n) =>
		journey(
			`half-${n}`,
			[
				[n, 2495],
				[n + 365, 4990],
				[n + 730, 4990],
			],
			[],
			{ evt: 'annual' },
		),
	);
	// Some go from a monthly plan to an annual one: most pay the month again.
	const upgraded = Array.from({ length: 20 }, (_, n) =>
		journey(
			`up-${n}`,
			[...monthlyFrom(n, 300).slice(0, n < 4 ? 1 : 9), ...(n < 4 ? [[n + 31, 4990] as const] : [])],
			[],
			{ evt: 'both' },
		),
	);
	for (const one of coursesOf([...introduced, ...halved, ...upgraded], {}, asOfMs))
		assert.ok(isPaid(one) && one.trial === null);
});

test('what is paid once before a longer plan is a trial, also of those who do not go on', () => {
	const asOfMs = asOfDay(300);
	const all = coursesOf(
		Array.from({ length: 20 }, (_, n) =>
			journey(`S-${n}`, n % 2 ? [[n, 100]] : [[n, 100], ...monthlyFrom(n + 7, 300)]),
		),
		{},
		asOfMs,
	);
	assert.deepEqual(
		all.map(({ trial, payments }) => [trial?.payments.length, payments.length > 0]),
		all.map((_, n) => [1, n % 2 === 0]),
	);
});

test('where nothing tells how long trials last, they stay open, and the report says so', async () => {
	const all = coursesOf([journey('A', [[0, 0]])], {}, asOfDay(900));
	const { rows, warnings } = await trialRows(all, asOfDay(900));
	assert.deepEqual([rows[0]?.open, rows[0]?.conversionRate, all[0]?.course?.state], [1, null, 'trial']);
	assert.match(warnings.join(), /Nothing tells how long 1 of 1 trials last.*--renewal-days/);
	assert.deepEqual(
		coursesOf([journey('A', [[0, -5]])], {}, asOfDay(9)).map(({ course, trial }) => [course, trial]),
		[[null, null]],
	);
});
