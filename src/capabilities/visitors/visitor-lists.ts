import type { Profile } from '../../core/domain/profile.ts';
import {
	isFromPayment,
	isWanted,
	paymentSitesOf,
	type TouchDimension,
	touchDimensions,
	wantedTouch,
} from '../../core/domain/touch.ts';
import { openScorer } from '../../core/scoring/serve/visitor-scorer.ts';
import { compileRule } from '../../core/segments/rule.ts';
import { scoredFacts } from '../../core/segments/rule-facts.ts';
import { parseOrigin } from '../../core/store/account/profiles/touches.ts';
import { profilePages, profilesOf } from '../../core/store/account/reading/visitors.ts';
import type { PageReads } from '../../core/store/serving.ts';
import type { Store } from '../../core/store/store.ts';
import type { AccountRequest } from '../../kit/console/page.ts';
import { includeOf } from '../../kit/console/view.ts';
import { gatewaysOf } from '../../kit/reading/gateways.ts';
import { knownAccount } from '../../kit/reading/known-account.ts';
import { latestTouches, type TouchRow } from '../../kit/reading/touch-rows.ts';

/** What a list shows of a visitor. Nothing but the `vid` is known where the hits are deleted. */
export type ListedVisitor = { readonly vid: string } & Partial<
	Pick<Profile, 'firstAtMs' | 'lastAtMs' | 'visits' | 'hits' | 'lastChannel' | 'subscriptions'>
>;

/** Some visitors of whom a page asks. */
export interface VisitorList {
	readonly visitors: readonly ListedVisitor[];
	/** How many arrivals or visitors were looked through; undefined if that were all. */
	readonly lookedThrough?: number;
	/** How many of those were mail gateways, who are left out. */
	readonly gatewayVisitors: number;
}

function listedOf(vid: string, profile: Profile | undefined): ListedVisitor {
	if (!profile) return { vid };
	const { firstAtMs, lastAtMs, visits, hits, lastChannel, subscriptions } = profile;
	return { vid, firstAtMs, lastAtMs, visits, hits, lastChannel, subscriptions };
}

/** What lists show of visitors, in their order. */
export async function listedVisitors(
	{ store, account }: AccountRequest,
	vids: readonly string[],
): Promise<ListedVisitor[]> {
	const profiles = await store.read(account.id, profilesOf(vids));
	return vids.map((vid) => listedOf(vid, profiles.get(vid)));
}

/** Touches that are looked through for visitors, at most. */
const maxTouches = 50_000;
const touchesAtOnce = 1000;

/** Who came in the view's period, by a touch that it wants, the latest first. */
export async function visitorsWhoCame(asked: AccountRequest, limit: number): Promise<VisitorList> {
	const { store, account, view, calendar, now } = asked;
	const texts = touchDimensions.map((name) => [name, view.texts[name] ?? null] as const);
	const wanted = wantedTouch(Object.fromEntries(texts) as Record<TouchDimension, string | null>);
	const providers = paymentSitesOf(account);
	const period = {
		fromMs: view.from === null ? 0 : calendar.startOfDay(view.from),
		toMs: Math.min(view.to === null ? Number.POSITIVE_INFINITY : calendar.startOfDay(view.to), now() + 1),
	};
	const gateways = await gatewaysOf(store, account, { asOfMs: now(), period, include: includeOf(view) });
	const vids = new Set<string>();
	const left = new Set<string>();
	let read = 0;
	let last: TouchRow | undefined;
	while (vids.size < limit && read < maxTouches) {
		const touches = await store.read(account.id, latestTouches(period, touchesAtOnce, last));
		for (const [vid, , text] of touches) {
			const origin = parseOrigin(text);
			if (vids.size >= limit || !isWanted(origin, wanted) || isFromPayment(origin, providers)) continue;
			(gateways.has(vid) ? left : vids).add(vid);
		}
		read += touches.length;
		last = touches.at(-1);
		if (touches.length < touchesAtOnce) break;
	}
	const isAll = vids.size < limit && read < maxTouches;
	return {
		visitors: await listedVisitors(asked, [...vids]),
		...(!isAll && { lookedThrough: read }),
		gatewayVisitors: left.size,
	};
}

/** Those of whom the numbers of members and the bands of scores are, or lists would not add up to them. */
const maxVisitors = 10_000;

declare module '../../kit/jobs/compute-jobs.ts' {
	interface ComputeJobs {
		members: { job: MembersJob; progress: never; result: VisitorList };
	}
}

/** Finds who matches a rule now, on the thread of jobs. */
interface MembersJob {
	readonly type: 'members';
	readonly aid: string;
	readonly rule: string;
	readonly include: 'gateways' | null;
}

export async function membersJob(store: Store & PageReads, job: MembersJob): Promise<VisitorList> {
	const account = await knownAccount(store, job.aid);
	const rule = compileRule(
		job.rule,
		account.goals.map(({ name }) => name),
	);
	const nowMs = store.now();
	const gateways = await gatewaysOf(store, account, { asOfMs: nowMs, include: job.include });
	const visitors: ListedVisitor[] = [];
	let [looked, left] = [0, 0];
	await using scorer = openScorer(store, nowMs);
	for await (const profiles of profilePages(store, account.id, maxVisitors)) {
		looked += profiles.size;
		for (const [vid, profile] of profiles) {
			if (!rule.matches(await scoredFacts(rule, scorer, account, profile, nowMs))) continue;
			if (gateways.has(vid)) left++;
			else visitors.push(listedOf(vid, profile));
		}
	}
	return { visitors, ...(looked === maxVisitors && { lookedThrough: looked }), gatewayVisitors: left };
}
