import {
	type Cadence,
	Cadences,
	type CadenceTable,
	calendarMonthsOf,
	dueAfter,
	type Paid,
	type Payment,
	type RenewalDays,
} from '../../core/domain/subscription-cadence.ts';
import { type Course, paymentsOf } from '../../core/domain/subscription-course.ts';
import { dayMs } from '../../core/durations.ts';
import { counted } from '../../core/format/numbers.ts';
import type { Account } from '../../core/store/control/account-store.ts';
import type { Reading } from '../../core/store/steps.ts';
import { withoutHidden } from '../format/hidden-characters.ts';
import { cadenceTableOf } from '../reading/learned-cadences.ts';
import { learnedCadences } from '../reading/payments.ts';
import { isIn, type Journey, type Period, rounded } from './journey.ts';
import { quotedName } from './label.ts';
import { readSubscriptionsWith } from './read-journeys.ts';
import { type SubscriptionTrial, triedCourseOf } from './tried-course.ts';

/** A subscription with the touches that led to it, and how it has gone. */
export interface CoursedJourney extends Journey {
	/** From the first one above the price of a trial, with which the subscription begins. Empty if it has not. */
	readonly payments: readonly Payment[];
	/** How often the plan was to be paid that was sold. */
	readonly soldCadence: Cadence | null;
	/** What was before that. */
	readonly trial: SubscriptionTrial | null;
	/** Null if there are only refunds. That of a trial has no movements. */
	readonly course: Course | null;
}

/** One that is a trial, or has been paid. */
export interface StartedJourney extends CoursedJourney {
	readonly course: Course;
}

/** One that has been paid: a subscription, and no longer a trial. */
export interface PaidJourney extends StartedJourney {
	readonly payments: readonly [Payment, ...Payment[]];
}

export function isStarted(journey: CoursedJourney): journey is StartedJourney {
	return journey.course !== null;
}

export function isPaid(journey: CoursedJourney): journey is PaidJourney {
	return journey.payments.length > 0;
}

/** When a subscription began, which decides its cohort: with its first payment, after the trial. */
export function begunAtMs({ payments: [first] }: PaidJourney): number {
	return first.atMs;
}

/** Those that began in a period. */
export function begunIn(journeys: readonly CoursedJourney[], period: Period): PaidJourney[] {
	return journeys.filter(isPaid).filter((journey) => isIn(period, begunAtMs(journey)));
}

/** What the operator has set that tells how subscriptions go. */
export type CourseSettings = Pick<Account, 'renewalDays' | 'graceDays' | 'cancellationEvt'>;

/** How some subscriptions have gone. Cadences are learned from a sample of all, so that it takes no longer where there are many. */
export function* readCoursesWith(
	subids: readonly string[],
	asOfMs: number,
	{ renewalDays, graceDays, cancellationEvt }: CourseSettings,
): Reading<CoursedJourney[]> {
	if (subids.length === 0) return [];
	const journeys = yield* readSubscriptionsWith(subids, asOfMs, cancellationEvt);
	const learned = yield* learnedCadences(asOfMs, cancellationEvt);
	return coursesOf(journeys, renewalDays, asOfMs, { learned, graceDays });
}

/**
 * How all subscriptions have gone, whatever a report is about.
 * @param known.learned what cadences are known by; else they are learned from these subscriptions
 * @param known.graceDays how late renewals may come, by `evt`, as the operator has set it
 */
export function coursesOf(
	journeys: readonly Journey[],
	setDays: RenewalDays,
	asOfMs: number,
	{
		learned,
		graceDays = {},
	}: { readonly learned?: CadenceTable; readonly graceDays?: CourseSettings['graceDays'] } = {},
): CoursedJourney[] {
	const all = journeys.map((journey) => ({ ...journey, payments: paymentsOf(journey.subscription) }));
	const paid = all.map(({ subscription: { evt }, payments }) => ({ evt, payments }));
	const grace = { setDays: graceDays, isLearned: true };
	const cadences = new Cadences(learned ?? cadenceTableOf(paid, asOfMs), setDays, grace);
	return all.map((journey, place) => {
		if (journey.payments.length === 0) return { ...journey, soldCadence: null, trial: null, course: null };
		return { ...journey, ...triedCourseOf(paid[place] as Paid, cadences, asOfMs) };
	});
}

/** How subscriptions had gone at a moment, as the account and the query say how often each is paid, and how late. */
export type CoursesAt = (journeys: readonly Journey[], atMs: number) => CoursedJourney[];

/** Subscriptions as they were known at a moment: nothing later had come. @param beforeMs the moment after it */
export function knownBefore(journeys: readonly Journey[], beforeMs: number): Journey[] {
	return journeys.flatMap((journey) => {
		const { subscription } = journey;
		const steps = subscription.steps.filter(({ atMs }) => atMs < beforeMs);
		return steps.length === 0 ? [] : [{ ...journey, subscription: { ...subscription, steps } }];
	});
}

/** What tells plans apart: the `evt`, and how often they are paid. */
export function planOf({ subscription: { evt }, course: { cadence } }: PaidJourney): string {
	return planNamed(evt, cadence);
}

/** The plan that was sold, whatever became of it. */
export function soldPlanOf({ subscription: { evt }, soldCadence }: PaidJourney): string {
	return planNamed(evt, soldCadence);
}

function planNamed(evt: string, cadence: Cadence | null): string {
	const days = cadence?.days ?? Number.NaN;
	return `${calendarMonthsOf(days) ?? `${Math.round(days)} days`} ${evt}`;
}

/**
 * What a reader must know of the figures.
 * @param isLatest whether those of now are among them
 */
export function warningsOf(journeys: readonly CoursedJourney[], { isLatest = true } = {}): string[] {
	const paid = journeys.filter(isPaid);
	const courses = paid.map(({ course }) => course);
	const atRisk = courses.filter(({ state }) => state === 'at risk').length;
	const unknown = paid.filter(({ course: { cadence, isPaidOnce } }) => cadence === null && !isPaidOnce);
	const warnings: string[] = [];
	if (isLatest && atRisk > 0)
		warnings.push(
			`${atRisk} of ${counted(courses.length, 'subscription')} ${atRisk === 1 ? 'is' : 'are'} at risk: a payment is late. The latest figures still count ${atRisk === 1 ? 'it' : 'them'}.`,
		);
	if (unknown.length > 0) {
		const evts = [...new Set(unknown.map(({ subscription: { evt } }) => quotedName(evt)))];
		const days = evts.slice(0, 3).map((evt) => `${evt}=DAYS`);
		warnings.push(
			`It is unknown how often ${unknown.length} of ${courses.length} subscriptions are paid, so they never end and have no recurring revenue. Set it for one report with --period ${days.join(',')}, or for all with 'caskade account update --renewal-days'.`,
		);
	}
	const borrowed = paid.filter(({ course: { isBorrowed } }) => isBorrowed);
	for (const [evt, own] of [...Map.groupBy(borrowed, ({ subscription }) => subscription.evt)].slice(0, 3))
		warnings.push(
			`No subscription with the event type ${quotedName(evt)} has been renewed yet, so ${counted(own.length, 'subscription is', 'subscriptions are')} assumed to be paid every ${rounded(own[0]?.course.cadence?.days ?? 0, 0)} days, as others are. Set how often, or that it is paid once, in the settings or with 'caskade account update --renewal-days ${quotedName(evt)}=never'. ${replacesAll}`,
		);
	const skipped = paid.filter(hasSkipped).length;
	if (skipped >= minWarned && skipped >= minWarnedShare * paid.length)
		warnings.push(
			`${skipped} of ${courses.length} subscriptions went on, on their billing day, after whole periods without a payment. Pauses, free periods and renewals that were not uploaded cannot be told apart: these have ended, and were reactivated. Upload free periods with 0 pence.`,
		);
	const unclear = courses.filter(({ cadence, state }) => cadence?.isUnclear && state !== 'ended').length;
	if (unclear >= minWarned && unclear >= minWarnedShare * paid.length)
		warnings.push(
			`${unclear} of ${courses.length} subscriptions have a price that is paid at several intervals, and have not renewed yet. They are assumed to be paid at the shortest that is not over, and their recurring revenue may change once they renew.`,
		);
	return warnings;
}

/** How often each `evt` is taken to be paid that nobody has renewed yet, why, and how to change it. Null if there is none. */
export function assumedRenewals(
	{ aid, renewalDays }: Pick<Account, 'aid' | 'renewalDays'>,
	{ evts, prices, all }: CadenceTable,
): string | null {
	const unrenewed = evts.filter(([, days]) => days.length === 0).map(([evt]) => evt);
	if (unrenewed.length === 0) return null;
	const assumed = unrenewed.slice(0, maxAssumed).map((evt) => {
		const set = renewalDays[evt];
		if (set === 'never') return `'${evt}' is paid once, as set`;
		if (set !== undefined) return `'${evt}' is assumed to be paid every ${set} days, as set`;
		const ofPrices = prices.flatMap(([of, pence, days]) => (of === evt && pence > 0 ? days : []));
		const borrowed = [...new Set(ofPrices.length > 0 ? ofPrices : all)].sort((a, b) => a - b);
		if (borrowed.length === 0) return `it is unknown how often '${evt}' is paid`;
		const days = borrowed.map((each) => rounded(each, 0)).join(' or ');
		return `'${evt}' is assumed to be paid every ${days} days, as others are`;
	});
	const others = unrenewed.length - assumed.length;
	if (others > 0) assumed.push(`${counted(others, 'other event type')} not shown`);
	const again = Object.keys(renewalDays).length > 0 ? ` ${replacesAll}` : '';
	return withoutHidden(
		`No renewal yet: ${assumed.join('; ')}. To change it: 'caskade account update ${aid} --renewal-days EVT=DAYS', or EVT=never for what is paid once.${again}`,
	);
}

/** Whoever sets one must know it: what was set before is not kept. */
const replacesAll = 'This replaces the whole list, so repeat what should stay.';

/** More are only counted. */
const maxAssumed = 10;

/** Fewer are not worth a warning. */
const [minWarned, minWarnedShare] = [5, 0.01];
/** A payment so near to the day on which one was due comes on that day. */
const nearBillingDayMs = 2 * dayMs;

/** Whether it was reactivated on a later day on which it would have been due, if it had gone on. */
function hasSkipped({ payments, course: { movements, cadence } }: PaidJourney): boolean {
	if (!cadence || calendarMonthsOf(cadence.days) === undefined) return false;
	return movements.some(({ kind, atMs }) => {
		const before = kind === 'reactivated' && payments.findLast((payment) => payment.atMs < atMs);
		if (!before) return false;
		const times = Math.round((atMs - before.atMs) / dayMs / cadence.days);
		return times > 1 && Math.abs(dueAfter(before.atMs, cadence.days, times, true) - atMs) <= nearBillingDayMs;
	});
}

/** What a reader must know of those that are paid once. */
export function notesOf(journeys: readonly CoursedJourney[]): string[] {
	const once = journeys.filter(isPaid).filter(({ course }) => course.isPaidOnce).length;
	if (once === 0) return [];
	const [are, never, theyAre] =
		once === 1 ? ['is', 'it never ends, and has', 'It is'] : ['are', 'they never end, and have', 'They are'];
	return [
		`${counted(once, 'subscription')} ${are} paid once, so ${never} no recurring revenue. ${theyAre} counted among the others.`,
	];
}
