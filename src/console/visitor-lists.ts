import { setImmediate as nextTurn } from 'node:timers/promises';
import {
	isFromPayment,
	isWanted,
	paymentProviders,
	type TouchDimension,
	touchDimensions,
	wantedTouch,
} from '../domain/touch.ts';
import { scorerOf } from '../scoring/serve/visitor-scorer.ts';
import type { Rule } from '../segments/rule.ts';
import { ruleFacts } from '../segments/rule-facts.ts';
import { parseOrigin } from '../store/account/profiles/touches.ts';
import { latestTouches, type TouchRow } from '../store/account/reading/journey-rows.ts';
import { profilesOf, vidsAfter } from '../store/account/reading/visitors.ts';
import type { AskedOfAccount } from './page.ts';

/** Some visitors of whom a page asks. */
export interface VisitorList {
	readonly vids: readonly string[];
	/** How many arrivals or visitors were looked through; undefined if that were all. */
	readonly lookedThrough?: number;
}

/** Touches that are looked through for visitors, at most. */
const maxTouches = 50_000;
const touchesAtOnce = 1000;

/** Who came in the view's period, by a touch that it wants, the latest first. */
export async function visitorsWhoCame(
	{ store, account, view, calendar, now }: AskedOfAccount,
	limit: number,
): Promise<VisitorList> {
	const texts = touchDimensions.map((name) => [name, view.texts[name] ?? null] as const);
	const wanted = wantedTouch(Object.fromEntries(texts) as Record<TouchDimension, string | null>);
	const providers = new Set([...paymentProviders, ...account.paymentProviders]);
	const period = {
		fromMs: view.from === null ? 0 : calendar.startOfDay(view.from),
		toMs: Math.min(view.to === null ? Number.POSITIVE_INFINITY : calendar.startOfDay(view.to), now() + 1),
	};
	const vids = new Set<string>();
	let read = 0;
	let last: TouchRow | undefined;
	while (vids.size < limit && read < maxTouches) {
		const touches = await store.read(account.id, latestTouches(period, touchesAtOnce, last));
		for (const [vid, , text] of touches) {
			const origin = parseOrigin(text);
			if (vids.size < limit && isWanted(origin, wanted) && !isFromPayment(origin, providers)) vids.add(vid);
		}
		read += touches.length;
		last = touches.at(-1);
		if (touches.length < touchesAtOnce) return { vids: [...vids] };
	}
	return { vids: [...vids], lookedThrough: read };
}

/** Of the visitors of an account, those with the lowest `vid`s, which are random. */
const maxVisitors = 10_000;
const visitorsAtOnce = 250;

/** Who matches a rule now. */
export async function visitorsMatching(
	{ store, account, now }: AskedOfAccount,
	rule: Rule,
	limit: number,
): Promise<VisitorList> {
	const nowMs = now();
	const found: string[] = [];
	const reader = store.startReading();
	const onError = (error: unknown) => {
		throw error;
	};
	try {
		const scorer = scorerOf(store, { reader, now, onError });
		let looked = 0;
		for (let last = ''; found.length < limit && looked < maxVisitors; ) {
			const vids = await store.read(account.id, vidsAfter(last, visitorsAtOnce));
			if (vids.length === 0) return { vids: found };
			last = vids.at(-1) as string;
			looked += vids.length;
			for (const [vid, profile] of await store.read(account.id, profilesOf(vids))) {
				const scores = rule.readsScores ? await scorer.scores(account, 'vid', profile, false) : [];
				if (found.length < limit && rule.matches(ruleFacts(profile, scores, nowMs, account.cadences)))
					found.push(vid);
			}
			// Other pages are asked for meanwhile.
			await nextTurn();
		}
		return { vids: found, lookedThrough: looked };
	} finally {
		await reader.close();
	}
}
