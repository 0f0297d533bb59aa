import { type Goal, namesUpload } from './goal.ts';
import type { Profile } from './profile.ts';
import type { Cadences } from './subscription-cadence.ts';
import { courseOf, paymentsOf } from './subscription-course.ts';
import { stepsOf } from './subscription-steps.ts';

/** A subscription that has not ended: it is paid for, or due and may still be renewed. */
export interface ActiveSubscription {
	readonly subid: string;
	/** Of its acquisition. */
	readonly evt: string;
	/** When it was last paid. */
	readonly paidAtMs: number;
	/** How many payments came in time one after another, this one included; of the latest few. */
	readonly paymentsInRow: number;
	/** Null if nothing is known about how often it is paid. */
	readonly cover: Cover | null;
	/** Whether it will end when it is due: nobody expects a renewal. */
	readonly isCancelled: boolean;
}

/** What the last payment is for. */
interface Cover {
	readonly cadenceDays: number;
	readonly dueAtMs: number;
	/** Until then a renewal is in time. */
	readonly lapsesAtMs: number;
}

/** A visitor's subscriptions that have not ended. In profiles of earlier versions, none has. */
export function activeSubscriptions(
	profile: Profile | null,
	nowMs: number,
	cadences: Cadences,
): ActiveSubscription[] {
	if (!profile?.subscriptions) return [];
	const { latest, subids, lastAtMs, lastEvt } = profile.subscriptions;
	if (!latest)
		return subids.map((subid) => ({
			subid,
			evt: lastEvt,
			paidAtMs: lastAtMs,
			paymentsInRow: 1,
			cover: null,
			isCancelled: false,
		}));
	return latest.flatMap(([subid, evt, events]) => {
		const steps = stepsOf(
			events.map(([atMs, revenuePence, own = evt]) => ({ atMs, evt: own, revenuePence })),
			cadences.cancellationEvt,
		);
		const payments = paymentsOf({ steps });
		const last = payments.at(-1);
		if (!last) return [];
		const course = courseOf({ evt, payments }, cadences, nowMs);
		const { state, cadence, dueAtMs, lapsesAtMs, cancelledAtMs, movements } = course;
		if (state === 'ended') return [];
		const cover =
			cadence && dueAtMs !== null && lapsesAtMs !== null
				? { cadenceDays: cadence.days, dueAtMs, lapsesAtMs }
				: null;
		const begunAtMs = movements.findLast(({ kind }) => kind === 'new' || kind === 'reactivated')?.atMs ?? 0;
		const paymentsInRow = payments.filter(({ atMs }) => atMs >= begunAtMs).length;
		return [{ subid, evt, paidAtMs: last.atMs, paymentsInRow, cover, isCancelled: cancelledAtMs !== null }];
	});
}

/** What a goal is scored for. */
export interface ScoringSubject {
	/** The subscription that a goal of renewals is about: of the active ones, that which is due first. */
	readonly renewing?: ActiveSubscription | undefined;
}

/** What a goal is scored for as of a moment; undefined if it is not scored for this visitor: only who subscribes, and has not cancelled, can renew. */
export function scoredFor(
	goal: Pick<Goal, 'evts' | 'counts'>,
	profile: Profile,
	nowMs: number,
	cadences: Cadences,
): ScoringSubject | undefined {
	if (goal.counts !== 'renewal') return {};
	const [first, ...others] = activeSubscriptions(profile, nowMs, cadences).filter(
		({ evt, isCancelled }) => !isCancelled && namesUpload(goal, evt),
	);
	if (!first) return undefined;
	const dueAtMs = ({ cover }: ActiveSubscription) => cover?.dueAtMs ?? Number.POSITIVE_INFINITY;
	return { renewing: others.reduce((next, one) => (dueAtMs(one) < dueAtMs(next) ? one : next), first) };
}
