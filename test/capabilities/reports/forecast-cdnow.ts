import { cameSince, forecast } from '../../../src/capabilities/reports/forecast.ts';
import { subscriptionOf } from '../../../src/core/domain/subscription-steps.ts';
import { dayMs } from '../../../src/core/durations.ts';
import { coursesOf, isPaid } from '../../../src/kit/reports/courses.ts';
import { cdnowEvents } from './cdnow.ts';

const days = 90;

export interface Cut {
	readonly day: string;
	readonly pence: number;
	readonly lowPence: number;
	readonly highPence: number;
	readonly camePence: number;
	/** By the last 90 days, and by the same days a year ago or, where these are not known, the last 90. */
	readonly byLastPence: number;
	readonly bySeasonPence: number;
}

/** Forecasts of 90 days as of the first of each month from April 1997 to April 1998, from CDNOW's purchases. */
export function forecastCdnow(file: string): Cut[] {
	const bySubid = Map.groupBy(cdnowEvents(file), ({ subid }) => subid);
	const journeys = [...bySubid].map(([subid, events]) => {
		const known = { subid, evt: 'purchase', shownAtMs: null };
		const steps = events.map(({ at, rvn }) => ({ ...known, atMs: Date.parse(at), revenuePence: rvn }));
		return { subscription: subscriptionOf(steps, null), path: [] };
	});
	const paid = coursesOf(journeys, {}, Date.UTC(1998, 6, 1)).filter(isPaid);
	return Array.from({ length: 13 }, (_, month) => {
		const atMs = Date.UTC(1997, 3 + month, 1);
		const net = (fromMs: number) => cameSince(paid, { fromMs, toMs: fromMs + days * dayMs }).net;
		const byLastPence = net(atMs - days * dayMs);
		const lastYearMs = atMs - 365 * dayMs;
		return {
			day: new Date(atMs).toISOString().slice(0, 10),
			...forecast(journeys, atMs, days).parts.net,
			camePence: net(atMs),
			byLastPence,
			bySeasonPence: lastYearMs >= Date.UTC(1997, 0, 1) ? net(lastYearMs) : byLastPence,
		};
	});
}

/** The mean absolute percentage error of forecasts, as a share, and the share of bands that what came lies in. */
export function judged(cuts: readonly Cut[]) {
	const error = (of: (cut: Cut) => number) =>
		cuts.reduce((sum, cut) => sum + Math.abs(of(cut) - cut.camePence) / cut.camePence, 0) / cuts.length;
	const within = cuts.filter(
		({ camePence, lowPence, highPence }) => lowPence <= camePence && camePence <= highPence,
	);
	return {
		forecast: error(({ pence }) => pence),
		byLast: error(({ byLastPence }) => byLastPence),
		bySeason: error(({ bySeasonPence }) => bySeasonPence),
		covered: within.length / cuts.length,
	};
}
