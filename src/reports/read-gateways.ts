import {
	areMachines,
	burstMarginMs,
	burstsIn,
	type Gateways,
	goesOnMs,
	type MailArrival,
	surroundingsMs,
} from '../domain/mail-gateways.ts';
import { isFromPayment } from '../domain/touch.ts';
import { parseOrigin } from '../store/account/profiles/touches.ts';
import { mailTouchesIn, quietVisitors, visitorsWithEvents } from '../store/account/reading/journey-rows.ts';
import type { Reading } from '../store/steps.ts';
import { isIn } from './journey.ts';
import type { JourneyOptions } from './read-journeys.ts';

/** Visitors of a period that are mail gateways, as far as is known at a moment. Whether one is does not depend on the period. */
export function* readGateways({
	asOfMs,
	period,
	paymentProviders,
}: Pick<JourneyOptions, 'asOfMs' | 'period' | 'paymentProviders'>): Reading<Gateways> {
	const { fromMs, toMs } = period;
	const bursts: (readonly MailArrival[])[] = [];
	const mailings = new Map<string, MailArrival[]>();
	const mailingOf = new Map<string, string | null>();
	const within = {
		fromMs: Math.max(fromMs - burstMarginMs, Number.MIN_SAFE_INTEGER),
		toMs: Math.min(toMs + burstMarginMs, asOfMs + 1),
	};
	yield* mailTouchesIn(within, (atMs, vid, origin) => {
		const mailing = mailingOf.getOrInsertComputed(origin, () => {
			const mail = parseOrigin(origin);
			const { source, medium, campaign } = mail;
			return isFromPayment(mail, paymentProviders) ? null : JSON.stringify([source, medium, campaign]);
		});
		if (mailing === null) return;
		const arrivals = mailings.getOrInsertComputed(mailing, () => []);
		// Nothing before a pause can be in a burst, or around one, with what comes after it.
		if (atMs - (arrivals.at(-1)?.atMs ?? atMs) > surroundingsMs) bursts.push(...burstsIn(arrivals.splice(0)));
		arrivals.push({ atMs, vid });
	});
	for (const arrivals of mailings.values()) bursts.push(...burstsIn(arrivals));
	const gateways = new Map<string, number>();
	for (const burst of bursts) {
		if ((burst.at(-1) as MailArrival).atMs > asOfMs - goesOnMs) continue;
		const vids = [...new Set(burst.map(({ vid }) => vid))];
		const quiet = yield* quietVisitors(vids, asOfMs);
		for (const vid of yield* visitorsWithEvents(vids, asOfMs)) quiet.delete(vid);
		if (!areMachines(vids.length, vids.length - quiet.size)) continue;
		for (const { vid, atMs } of burst) if (quiet.has(vid) && isIn(period, atMs)) gateways.set(vid, atMs);
	}
	return gateways;
}
