/**
 * `npm run proof:forecast-cdnow` forecasts CDNOW's purchases, 90 days from the first of each of thirteen months, and compares the
 * mean absolute percentage error with that of the last 90 days and of the same days a year ago, and the bands with what came.
 * `test/capabilities/reports/forecast.test.ts` is the short form.
 */
import { cdnowMaster } from '../capabilities/reports/cdnow.ts';
import { forecastCdnow, judged } from '../capabilities/reports/forecast-cdnow.ts';

const cuts = forecastCdnow(cdnowMaster);
const dollars = (pence: number) => Math.round(pence / 100);
console.table(
	cuts.map(({ day, ...pence }) => ({
		day,
		...Object.fromEntries(
			Object.entries(pence).map(([name, value]) => [name.replace('Pence', ''), dollars(value)]),
		),
	})),
);
const measured = judged(cuts);
console.log(measured);
const { forecast, byLast, bySeason, covered } = measured;
if (!(forecast < byLast && forecast < bySeason && covered >= 0.7 && covered <= 0.9)) process.exitCode = 1;
