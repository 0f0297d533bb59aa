import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { cameSince, forecast, knownAt } from '../../../src/capabilities/reports/forecast.ts';
import { chosenBy, NewSubscriptions } from '../../../src/capabilities/reports/new-business.ts';
import { projectionOf, Renewals } from '../../../src/capabilities/reports/projection.ts';
import { dayMs } from '../../../src/core/durations.ts';
import { seededRandom } from '../../../src/kit/random.ts';
import type { Journey } from '../../../src/kit/reports/journey.ts';
import { reportText } from '../../../src/kit/reports/report-table.ts';
import { type Engine, engines, openAccountOn } from '../../core/store/engines.ts';
import { some, takesLong } from '../../quick.ts';
import { reportOf } from '../../reports.ts';
import { cdnowSample } from './cdnow.ts';
import { fill, report, sale } from './filled.ts';
import { forecastCdnow, judged } from './forecast-cdnow.ts';
import { day0Ms, journey } from './made-up.ts';

/** Monthly subscriptions, five a day for 500 days; of those who are due, one of ten does not renew, and one of thirty is refunded. */
function business(seed: number): Journey[] {
	const random = seededRandom(seed);
	return Array.from({ length: 2500 }, (_, number) => {
		let day = random() * 500;
		const payments: [day: number, pence: number][] = [[day, 1000]];
		if (random() < 1 / 30) payments.push([day + 1, -1000]);
		else for (day += 30; random() < 0.9; day += 30) payments.push([day, 1000]);
		return journey(`S-${number}`, payments);
	});
}

function before(journeys: readonly Journey[], asOfMs: number): Journey[] {
	return journeys.map(({ subscription, path }) => ({
		path,
		subscription: { ...subscription, steps: subscription.steps.filter(({ atMs }) => atMs < asOfMs) },
	}));
}

test('what comes of a steady business is near its forecast, and mostly within the bounds', () => {
	const asOfMs = day0Ms + 400 * dayMs;
	let within = 0;
	const seeds = some([4, 1, 2, 3, 5, 6, 7, 8, 9, 10], 4);
	for (const seed of seeds) {
		const all = business(seed);
		const made = forecast(all, asOfMs, 90);
		const came = cameSince(knownAt(all, day0Ms + 600 * dayMs), {
			fromMs: asOfMs,
			toMs: asOfMs + 90 * dayMs,
		});
		for (const part of ['acquisitions', 'renewals of present', 'net'] as const) {
			const { pence, lowPence, highPence } = made.parts[part];
			assert.ok(lowPence <= pence && pence <= highPence, part);
			assert.ok(Math.abs(pence / came[part] - 1) < 0.15, `${part}: ${pence}, ${came[part]}`);
		}
		const { lowPence, highPence } = made.parts.net;
		if (lowPence <= came.net && came.net <= highPence) within++;
	}
	// With bounds of 80 %.
	assert.ok(within >= 0.6 * seeds.length, `${within} of ${seeds.length}`);
});

test('a forecast is the same each time, and uses nothing of later', () => {
	const all = business(1);
	const asOfMs = day0Ms + 400 * dayMs;
	const made = forecast(all, asOfMs, 90);
	assert.deepEqual(forecast(all, asOfMs, 90), made);
	assert.deepEqual(forecast(before(all, asOfMs), asOfMs, 90), made);
});

test('renewals of the present are what ltv projects, for any number of days', () => {
	const asOfMs = day0Ms + 400 * dayMs;
	const known = knownAt(business(4), asOfMs);
	for (const days of some([30, 1, 90, 365], 4)) {
		const projected = projectionOf(known, new Renewals(known, asOfMs), asOfMs, { days });
		const told = forecast(known, asOfMs, days).parts['renewals of present'];
		assert.equal(told.pence, projected.pence);
		// Of 80 %, these of 95 %.
		assert.ok(told.lowPence >= projected.lowPence && told.highPence <= projected.highPence);
	}
});

test('a young account is told all that is due, as what may come, and why', () => {
	const young = Array.from({ length: 100 }, (_, number) => journey(`S-${number}`, [[number / 5, 499]]));
	const asOfMs = day0Ms + 21 * dayMs;
	const { parts, newBusiness, warnings } = forecast(young, asOfMs, 30);
	assert.deepEqual(parts['renewals of present'], { pence: 39_920, lowPence: 0, highPence: 49_900 });
	assert.equal(newBusiness.method, 'model');
	assert.equal(newBusiness.backTests, 0);
	assert.match(warnings[0] as string, /^The plans of 100 of 100 subscriptions have never come due/);
	const known = knownAt(young, asOfMs);
	const { lowPence, highPence } = projectionOf(known, new Renewals(known, asOfMs), asOfMs);
	assert.deepEqual({ lowPence, highPence }, { lowPence: 0, highPence: 12 * 49_900 });
});

test('what nobody has renewed in two years is no subscription', () => {
	const once = Array.from({ length: 100 }, (_, number) => journey(`S-${number}`, [[8 * number, 499]]));
	const { parts } = forecast(once, day0Ms + 800 * dayMs, 90);
	assert.deepEqual(parts['renewals of present'], { pence: 0, lowPence: 0, highPence: 0 });
	assert.ok(parts.acquisitions.pence > 0);
});

test('a season that is certain is as sure as its days are many', () => {
	// Five times as many in December, as of the second 1 December.
	const asOfMs = Date.UTC(2027, 11, 1);
	const begins = Array.from({ length: 699 }, (_, ago) => {
		const atMs = asOfMs - ago * dayMs - 1;
		return Array<number>(new Date(atMs).getUTCMonth() === 11 ? 25 : 5).fill(atMs);
	}).flat();
	const { countIn, varianceIn } = new NewSubscriptions(begins, asOfMs).expected();
	assert.ok(Math.abs(countIn(28) / (28 * 25) - 1) < 0.03);
	// Of some 700 in the days of a year ago, and of as many days before these as are alike.
	assert.ok(varianceIn(28) < 3 / 700, `${varianceIn(28)}`);
});

test('the model gives way to a simple method that was nearer to what came', () => {
	const backTest = { atMs: day0Ms, model: 90, lastPeriod: 95, dues: 80, came: 100 };
	assert.equal(chosenBy([backTest]).method, 'lastPeriod');
	assert.equal(chosenBy([{ ...backTest, dues: 97 }]).method, 'dues');
	assert.equal(chosenBy([{ ...backTest, model: 98 }]).method, 'model');
	const later = { ...backTest, atMs: day0Ms + 120 * dayMs, model: 100 };
	assert.deepEqual(chosenBy([later, backTest]), {
		method: 'model',
		backTests: 2,
		// Of 90 and 100 by 95, counted half, and of nothing.
		errors: { model: 0.0351, lastPeriod: 0.0513, dues: 0.2222 },
	});
	assert.equal(chosenBy([]).method, 'model');
});

test('a simple method that was nearer by chance does not replace the model', () => {
	const atMs = day0Ms;
	const backTests = [
		{ atMs, model: 90, lastPeriod: 98, dues: 80, came: 100 },
		{ atMs, model: 90, lastPeriod: 97, dues: 80, came: 100 },
		{ atMs, model: 97, lastPeriod: 94, dues: 80, came: 100 },
	];
	assert.equal(chosenBy(backTests).method, 'model');
	assert.equal(chosenBy(backTests.slice(0, 2)).method, 'lastPeriod');
});

test('nothing is forecast from nothing', () => {
	const { net, refunds } = forecast([], day0Ms, 90).parts;
	const nothing = { pence: 0, lowPence: 0, highPence: 0 };
	assert.deepEqual(net, nothing);
	assert.ok(Object.is(refunds.pence, 0), 'and no negative zero');
});

test('what an earlier forecast said is left out where nothing was known then', async () => {
	const { store } = await openAccountOn(engines[0] as Engine);
	const id = await fill(store, 'c-a-forecast', [sale('A-100', 'A', 100, 500)]);
	const asked = async (day: number) => {
		const made = await report(store, id, 'forecast', { asOf: day0Ms + day * dayMs, days: 90 });
		const net = made.rows.at(-1) as Readonly<Record<string, unknown>>;
		return { text: reportText(reportOf('forecast'), made), net };
	};
	const young = await asked(101);
	assert.doesNotMatch(young.text, /What the forecast of 90 days ago said/);
	assert.match(young.text, /Expected in the next 90 days/);
	const { earlierPence, earlierLowPence, earlierHighPence, camePence } = young.net;
	assert.deepEqual([earlierPence, earlierLowPence, earlierHighPence, camePence], [null, null, null, null]);
	const older = await asked(191);
	assert.match(older.text, /What the forecast of 90 days ago said/);
	assert.equal(older.net.camePence, 0);
});

test('on a tenth of CDNOW forecasts are nearer than the last 90 days, and than a year ago', {
	skip: takesLong || (!existsSync(cdnowSample) && 'the data is absent'),
}, () => {
	const cuts = forecastCdnow(cdnowSample);
	const { forecast: own, byLast, bySeason, covered } = judged(cuts);
	assert.ok(own < byLast && own < bySeason, `${own} of ${byLast}, ${bySeason}`);
	assert.ok(covered >= 0.6, String(covered));
});

test('what is paid back is never paid in, and a method is called the nearest where it is', async () => {
	const { store } = await openAccountOn(engines[0] as Engine);
	const random = seededRandom(3);
	const entries = Array.from({ length: 240 }, (_, n) =>
		sale(`N-${n}`, `N-${n}`, Math.floor(200 * random()), 500),
	);
	const id = await fill(store, 'c-a-refunded', [...entries, sale('N-0-back', 'N-0', 199, -500)]);
	const made = await report(store, id, 'forecast', { asOf: day0Ms + 200 * dayMs, days: 30 });
	const rows = made.rows as readonly Readonly<Record<string, unknown>>[];
	const refunds = rows.find(({ part }) => part === 'refunds');
	assert.ok(Number(refunds?.expectedPence) < 0 && Number(refunds?.highPence) <= 0, JSON.stringify(refunds));
	const { method, errors } = made.newBusiness as { method: string; errors: Record<string, number> };
	const isNearest = Object.values(errors).every((each) => (errors[method] as number) <= each);
	assert.match(
		reportText(reportOf('forecast'), made),
		isNearest
			? /it was nearest to what came\. Off by/
			: /no simpler method was nearer to what came by more than chance\. Off by/,
	);
});
