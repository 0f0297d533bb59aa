import type { HitRecord } from '../../core/domain/stored-hit.ts';
import type { Subscription } from '../../core/domain/subscription-steps.ts';
import { dayMs } from '../../core/durations.ts';
import type { Reading } from '../../core/store/steps.ts';
import { hitsOfVisitors } from '../../kit/reading/hit-rows.ts';
import type { Journey } from '../../kit/reports/journey.ts';
import { isInLookback } from '../../kit/reports/path.ts';
import { byCount } from '../../kit/reports/sums.ts';

export interface PagesSeen {
	/** The most viewed ones, with the number of subscriptions whose owners viewed each before converting. */
	readonly pages: readonly { readonly page: string; readonly subscriptions: number }[];
	readonly distinctPages: number;
}

const maxPages = 100;

/** The pages that owners viewed in the days before they converted, with the number of subscriptions. */
export function* readPagesSeen(
	journeys: readonly Journey[],
	{ asOfMs, lookbackDays }: { readonly asOfMs: number; readonly lookbackDays: number },
): Reading<PagesSeen> {
	const ofOwner = Map.groupBy(
		journeys.map(({ subscription }) => subscription),
		({ owner }) => owner,
	);
	const counts = new Map<string, number>();
	const owners = [...ofOwner.keys()].filter((vid) => vid !== null).sort();
	let [firstMs, lastMs] = [asOfMs, Number.MIN_SAFE_INTEGER];
	for (const { subscription } of journeys) {
		firstMs = Math.min(firstMs, subscription.convertedAtMs);
		lastMs = Math.max(lastMs, subscription.convertedAtMs);
	}
	const when = { fromMs: firstMs - lookbackDays * dayMs, untilMs: Math.min(lastMs, asOfMs) };
	yield* hitsOfVisitors(owners, when, (hits) => {
		const seen = new Map<Subscription, Set<string>>();
		for (const [vid, atMs, body] of hits) {
			const led = (ofOwner.get(vid) ?? []).filter(({ convertedAtMs }) =>
				isInLookback(atMs, convertedAtMs, lookbackDays),
			);
			if (led.length === 0) continue;
			const { page } = JSON.parse(body) as HitRecord;
			if (page === null) continue;
			for (const subscription of led) seen.getOrInsertComputed(subscription, () => new Set()).add(page);
		}
		for (const pages of seen.values())
			for (const page of pages) counts.set(page, (counts.get(page) ?? 0) + 1);
	});
	const pages = byCount(counts)
		.slice(0, maxPages)
		.map(([page, subscriptions]) => ({ page, subscriptions }));
	return { pages, distinctPages: counts.size };
}
