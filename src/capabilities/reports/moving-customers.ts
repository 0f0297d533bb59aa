import { compareTexts } from '../../core/domain/compare-texts.ts';
import type { Course, Movement } from '../../core/domain/subscription-course.ts';
import { type CoursedJourney, isPaid, type PaidJourney } from '../../kit/reports/courses.ts';
import { isOpen } from './open-dues.ts';

/** Who or what comes, changes and goes: a subscription, or a customer with all subscriptions. */
export interface Mover {
	/** Its first subscription, which says to which group it belongs. */
	readonly journey: CoursedJourney;
	readonly movements: readonly Movement[];
	/** The movements if nothing is renewed that is due and may still be. */
	readonly worst: readonly Movement[];
	/** How likely it is that nothing of it is renewed. */
	readonly chance: number;
}

/** @param lossOf how likely a subscription is lost that is due */
export function moverOf(journey: CoursedJourney, lossOf: (journey: PaidJourney) => number): Mover {
	const movements = journey.course?.movements ?? [];
	if (!isPaid(journey) || !isOpen(journey)) return { journey, movements, worst: movements, chance: 0 };
	return { journey, movements, worst: worstOf(journey.course), chance: lossOf(journey) };
}

function worstOf({ movements, dueAtMs, state }: Course): readonly Movement[] {
	if (state !== 'at risk' || dueAtMs === null) return movements;
	return [...movements, { kind: 'ended', atMs: dueAtMs, recurringPence: 0, isByWill: false }];
}

/**
 * The paid subscriptions of each customer, the first one first: all with one `cid`, else of one visitor, else each by itself.
 * @param customerOf the `cid` of a subscription
 */
export function byCustomer(
	journeys: readonly CoursedJourney[],
	customerOf: (subid: string) => string | undefined,
): readonly (readonly [PaidJourney, ...PaidJourney[]])[] {
	const nameOf = ({ subscription: { subid, owner } }: CoursedJourney) => {
		const cid = customerOf(subid);
		if (cid !== undefined) return `c:${cid}`;
		return owner === null ? `s:${subid}` : `v:${owner}`;
	};
	return [...Map.groupBy(journeys.filter(isPaid), nameOf).values()].map(
		(own) => own.toSorted(compareStarts) as [PaidJourney, ...PaidJourney[]],
	);
}

/**
 * How customers come, change and go. A customer is there while one of the subscriptions is. Who goes on under another `subid` while the last one could still be renewed has not left.
 * @param customerOf the `cid` of a subscription
 */
export function customersAmong(
	journeys: readonly CoursedJourney[],
	customerOf: (subid: string) => string | undefined,
	lossOf: (journey: PaidJourney) => number,
): Mover[] {
	return byCustomer(journeys, customerOf).map((own) => {
		const [journey] = own;
		if (own.length === 1) return moverOf(journey, lossOf);
		const open = own.filter(isOpen);
		const movements = together(own, (course) => course.movements);
		return {
			journey,
			movements,
			worst: open.length > 0 ? together(own, worstOf) : movements,
			chance: open.reduce((sum, one) => sum + lossOf(one), 0) / Math.max(1, open.length),
		};
	});
}

function compareStarts(a: PaidJourney, b: PaidJourney): number {
	const [first, second] = [a.payments[0].atMs, b.payments[0].atMs];
	return first - second || compareTexts(a.subscription.subid, b.subscription.subid);
}

/** Until when who goes on has not left, if all have ended at a moment. It is known only of a subscription's last end. */
function heldUntil(journeys: readonly PaidJourney[], atMs: number): number {
	return journeys.reduce((latest, { course: { endedAtMs, dueAtMs, lapsesAtMs, state } }) => {
		const isLast = endedAtMs === atMs || (state === 'at risk' && dueAtMs === atMs);
		return Math.max(latest, isLast ? (lapsesAtMs ?? atMs) : atMs);
	}, atMs);
}

/** The movements of several subscriptions as those of one customer. */
function together(
	journeys: readonly PaidJourney[],
	movementsOf: (course: Course) => readonly Movement[],
): Movement[] {
	const changes = journeys
		.flatMap(({ course }, place) => movementsOf(course).map((movement) => ({ ...movement, place })))
		// At one moment, what begins comes before what ends.
		.sort((a, b) => a.atMs - b.atMs || Number(a.kind === 'ended') - Number(b.kind === 'ended'));
	const pence = journeys.map(() => 0);
	const isThere = journeys.map(() => false);
	const moves: Movement[] = [];
	let held: Movement | undefined;
	let heldUntilMs = 0;
	const end = () => {
		if (held) moves.push(held);
		held = undefined;
	};
	for (const { kind, atMs, recurringPence, place } of changes) {
		if (held && atMs > heldUntilMs) end();
		const before = moves.at(-1);
		const wasThere = before !== undefined && before.kind !== 'ended';
		isThere[place] = kind !== 'ended';
		pence[place] = recurringPence;
		const sum = pence.reduce((all, each) => all + each, 0);
		if (!isThere.includes(true)) {
			// By will, if one of those was that ended last.
			const isByWill = changes.some((change) => change.atMs === atMs && change.isByWill);
			held = { kind: 'ended', atMs, recurringPence: 0, isByWill };
			heldUntilMs = heldUntil(journeys, atMs);
			continue;
		}
		held = undefined;
		if (!wasThere) moves.push({ kind: before ? 'reactivated' : 'new', atMs, recurringPence: sum });
		else if (sum !== before.recurringPence)
			moves.push({
				kind: sum > before.recurringPence ? 'expansion' : 'contraction',
				atMs,
				recurringPence: sum,
			});
	}
	end();
	return moves;
}
