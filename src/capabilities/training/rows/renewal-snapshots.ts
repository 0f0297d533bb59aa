import {
	type ActiveSubscription,
	activeSubscriptions,
	scoredFor,
} from '../../../core/domain/active-subscriptions.ts';
import { isCancellation } from '../../../core/domain/event-kind.ts';
import type { Goal } from '../../../core/domain/goal.ts';
import type { Profile, SubscriptionEntry } from '../../../core/domain/profile.ts';
import type { Cadences } from '../../../core/domain/subscription-cadence.ts';
import { sameOccasionMs } from '../../../core/domain/subscription-course.ts';
import type { VisitorHistory } from '../../../kit/reading/histories.ts';
import { maxRowsOfOne, profilesAt, type Snapshot } from './snapshots.ts';

export interface RenewalPlan {
	readonly goal: Pick<Goal, 'evts' | 'counts'>;
	readonly cadences: Cadences;
	/** Outcomes are known up to this moment. */
	readonly knownToMs: number;
}

/**
 * Snapshots of a visitor for a goal of renewals: one for each payment, at a random moment from then until a renewal would be
 * too late. Frequent visitors count no more than those who never come: each renewal that is due counts once. Left out are
 * those of which there is still time to come, whether they came or not, since early ones would count more.
 */
export function renewalSnapshots(
	history: VisitorHistory,
	plan: RenewalPlan,
	random: () => number,
): Snapshot[] {
	const { goal, cadences, knownToMs } = plan;
	const payments = history.events
		.filter(
			({ entry, knownFromMs, knownUntilMs }) =>
				isPayment(entry, cadences) &&
				knownFromMs < Number.POSITIVE_INFINITY &&
				knownUntilMs === Number.POSITIVE_INFINITY,
		)
		.map(({ entry, knownFromMs }) => ({
			subid: entry.subid,
			fromMs: Math.max(entry.atMs, knownFromMs, history.hits[0]?.atMs ?? 0),
		}))
		.sort((a, b) => a.fromMs - b.fromMs)
		.slice(-maxRowsOfOne);
	if (payments.length === 0) return [];
	const paid = profilesAt(
		history,
		payments.map(({ fromMs }) => fromMs),
	);
	const moments = payments
		.flatMap(({ subid, fromMs }, index) => {
			const active = activeSubscriptions(paid[index] as Profile, fromMs, cadences);
			const own = active.find((one) => one.subid === subid);
			if (!own?.cover) return [];
			return [{ own, atMs: Math.floor(fromMs + random() * (own.cover.lapsesAtMs - fromMs)) }];
		})
		.filter(({ atMs }) => atMs <= knownToMs)
		.sort((a, b) => a.atMs - b.atMs);
	const profiles = profilesAt(
		history,
		moments.map(({ atMs }) => atMs),
	);
	const taken = new Set<string>();
	return moments.flatMap(({ own, atMs }, index) => {
		const profile = profiles[index] as Profile;
		const renewing = scoredFor(goal, profile, atMs, cadences)?.renewing;
		const outcome = renewing && renewalOutcome(history, renewing, plan);
		// Another subscription may be due before this one, or this one has been paid again: each has a moment of its own.
		if (!outcome || renewing.subid !== own.subid || renewing.paidAtMs !== own.paidAtMs) return [];
		// Several transactions of one sale are one payment.
		const payment = `${own.subid} ${own.paidAtMs}`;
		if (taken.has(payment)) return [];
		taken.add(payment);
		return [{ atMs, profile, labels: [outcome.label], renewing, knownAtMs: outcome.knownAtMs }];
	});
}

/** Free ones, too. */
function isPayment(entry: SubscriptionEntry, { cancellationEvt }: Cadences): boolean {
	return entry.revenuePence >= 0 && !isCancellation(entry, cancellationEvt);
}

/** Whether the next renewal came in time, and since when that is known at the latest; undefined if it is not known yet. */
export function renewalOutcome(
	{ events }: Pick<VisitorHistory, 'events'>,
	{ subid, paidAtMs, cover }: ActiveSubscription,
	{ cadences, knownToMs }: Pick<RenewalPlan, 'cadences' | 'knownToMs'>,
): { readonly label: 0 | 1; readonly knownAtMs: number } | undefined {
	if (!cover || cover.lapsesAtMs > knownToMs) return undefined;
	const isRenewed = events.some(
		({ entry, knownUntilMs }) =>
			knownUntilMs === Number.POSITIVE_INFINITY &&
			entry.subid === subid &&
			isPayment(entry, cadences) &&
			entry.atMs >= paidAtMs + sameOccasionMs &&
			entry.atMs <= cover.lapsesAtMs,
	);
	return { label: isRenewed ? 1 : 0, knownAtMs: cover.lapsesAtMs };
}
