import { hitsOfVisitors } from '../store/account/journey-rows.ts';
import type { Steps } from '../store/steps.ts';
import type { Journey } from './journey.ts';
import { dayMs } from './model.ts';
import type { PageSeen } from './paths.ts';
import type { Subscription } from './subscription.ts';

const maxPages = 100;
/** The number of owners whose hits are read at once. */
const ownersPerRead = 500;

/** The pages that owners viewed in the days before they converted, with the number of subscriptions. */
export function* readPagesSeen(
	journeys: readonly Journey[],
	{ asOfMs, lookbackDays }: { readonly asOfMs: number; readonly lookbackDays: number },
): Steps<PageSeen[]> {
	const ofOwner = Map.groupBy(
		journeys.map(({ subscription }) => subscription),
		({ owner }) => owner,
	);
	const counts = new Map<string, number>();
	const owners = [...ofOwner.keys()].filter((vid) => vid !== null).sort();
	for (let first = 0; first < owners.length; first += ownersPerRead) {
		const vids = owners.slice(first, first + ownersPerRead);
		const convertedMs = vids.flatMap((vid) => ofOwner.get(vid)?.map((own) => own.convertedAtMs) ?? []);
		const fromMs = Math.min(...convertedMs) - lookbackDays * dayMs;
		const untilMs = Math.min(Math.max(...convertedMs), asOfMs);
		const seen = new Map<Subscription, Set<string>>();
		yield* hitsOfVisitors(vids, { fromMs, untilMs }, (vid, atMs, page) => {
			if (page === null) return;
			for (const subscription of ofOwner.get(vid) ?? []) {
				const toMs = subscription.convertedAtMs;
				if (atMs > toMs || atMs <= toMs - lookbackDays * dayMs) continue;
				const pages = seen.get(subscription);
				if (pages) pages.add(page);
				else seen.set(subscription, new Set([page]));
			}
		});
		for (const pages of seen.values())
			for (const page of pages) counts.set(page, (counts.get(page) ?? 0) + 1);
	}
	return [...counts]
		.map(([page, subscriptions]) => ({ page, subscriptions }))
		.sort((a, b) => b.subscriptions - a.subscriptions || (a.page < b.page ? -1 : 1))
		.slice(0, maxPages);
}
