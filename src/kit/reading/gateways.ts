import {
	areMachines,
	type BurstArrival,
	burstMarginMs,
	burstPart,
	burstsIn,
	type Gateways,
	goesOnMs,
	type MailArrival,
	surroundingsMs,
} from '../../core/domain/mail-gateways.ts';
import { isFromPayment, paymentSitesOf } from '../../core/domain/touch.ts';
import { parseOrigin } from '../../core/store/account/profiles/touches.ts';
import type { Reading } from '../../core/store/steps.ts';
import type { Store } from '../../core/store/store.ts';
import { quietVisitors } from './hit-rows.ts';
import { visitorsWithEvents } from './journey-events.ts';
import { crowdedParts, mailTouchesIn } from './touch-rows.ts';

interface Span {
	readonly fromMs: number;
	readonly toMs: number;
}

/** Whether somebody is a mail gateway does not depend on the period. */
interface GatewayOptions {
	/** As far as is known at this moment. */
	readonly asOfMs: number;
	/** In which they came. All time, if there is none. */
	readonly period?: Span;
	/** Whether they are counted like everybody else, so that there is none. */
	readonly include?: 'gateways' | null;
}

type GatewayAccount = { readonly id: number; readonly paymentProviders: readonly string[] };

/** Visitors that are mail gateways. Whatever counts visitors leaves them out by this, unless it is asked to count them. */
export async function gatewaysOf(
	store: Pick<Store, 'read'>,
	account: GatewayAccount,
	options: GatewayOptions,
): Promise<Gateways> {
	const arrivals = await machineBursts(store, account, options);
	return new Map(arrivals.filter(({ isGateway }) => isGateway).map(({ vid, atMs }) => [vid, atMs]));
}

/** Everybody who came in a burst that machines made: gateways, and a few people who came at the same moment. */
export async function machineBursts(
	store: Pick<Store, 'read'>,
	account: GatewayAccount,
	{ asOfMs, period = always, include = null }: GatewayOptions,
): Promise<readonly BurstArrival[]> {
	if (include === 'gateways') return [];
	return store.read(account.id, readMachineBursts(period, asOfMs, paymentSitesOf(account)));
}

const always: Span = { fromMs: Number.NEGATIVE_INFINITY, toMs: Number.POSITIVE_INFINITY };

function* readMachineBursts(
	{ fromMs, toMs }: Span,
	asOfMs: number,
	paymentProviders: ReadonlySet<string>,
): Reading<BurstArrival[]> {
	const within = {
		fromMs: Math.max(fromMs - burstMarginMs, Number.MIN_SAFE_INTEGER),
		toMs: Math.min(toMs + burstMarginMs, asOfMs + 1),
	};
	const bursts: (readonly MailArrival[])[] = [];
	for (const span of spansAround(yield* crowdedParts(within, burstPart), within))
		bursts.push(...(yield* readBursts(span, paymentProviders)));
	const found: BurstArrival[] = [];
	for (const burst of bursts) {
		if ((burst.at(-1) as MailArrival).atMs > asOfMs - goesOnMs) continue;
		const vids = [...new Set(burst.map(({ vid }) => vid))];
		const quiet = yield* quietVisitors(vids, asOfMs);
		for (const vid of yield* visitorsWithEvents(vids, asOfMs)) quiet.delete(vid);
		if (!areMachines(vids.length, vids.length - quiet.size)) continue;
		for (const { vid, atMs } of burst)
			if (atMs >= fromMs && atMs < toMs) found.push({ vid, atMs, isGateway: quiet.has(vid) });
	}
	return found;
}

/** Whole bursts, with what is around them, of the crowded parts of a period. */
function spansAround(partsMs: readonly number[], { fromMs, toMs }: Span): Span[] {
	const spans: { fromMs: number; toMs: number }[] = [];
	for (const partMs of partsMs) {
		const beginMs = Math.max(fromMs, partMs - burstMarginMs);
		const endMs = Math.min(toMs, partMs + burstPart.lengthMs + burstMarginMs);
		const last = spans.at(-1);
		if (last && beginMs <= last.toMs) last.toMs = endMs;
		else spans.push({ fromMs: beginMs, toMs: endMs });
	}
	return spans;
}

function* readBursts(span: Span, paymentProviders: ReadonlySet<string>): Reading<(readonly MailArrival[])[]> {
	const bursts: (readonly MailArrival[])[] = [];
	const mailings = new Map<string, MailArrival[]>();
	const mailingOf = new Map<string, string | null>();
	yield* mailTouchesIn(span, (atMs, vid, origin) => {
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
	return bursts;
}
