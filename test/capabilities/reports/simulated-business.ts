import { describeMovement } from '../../../src/capabilities/reports/movement.ts';
import { projectionOf, Renewals } from '../../../src/capabilities/reports/projection.ts';
import { describeRenewals } from '../../../src/capabilities/reports/renewals.ts';
import { subscriptionOf } from '../../../src/core/domain/subscription-steps.ts';
import { dayMs } from '../../../src/core/durations.ts';
import { Calendar } from '../../../src/kit/reports/calendar.ts';
import { coursesOf, isPaid, planOf } from '../../../src/kit/reports/courses.ts';
import type { Journey } from '../../../src/kit/reports/journey.ts';
import { allTime } from './made-up.ts';

/** A business whose truth is known, and the events that it uploads. */

export interface Plan {
	readonly name: string;
	readonly months: number;
	/** Instead of months. */
	readonly weeks?: number;
	readonly pence: number;
	readonly share: number;
	/** Of those who are due, the share that does not renew, by channel. */
	readonly churn: Readonly<Record<string, number>>;
}

export interface Trouble {
	/** Shares of the renewals that are late by up to `lateDays`, whose event is never sent, and that are early. */
	readonly late: number;
	readonly lateDays: number;
	readonly missing: number;
	readonly early: number;
	/** Shares of the payments that are followed by a pause, and that are paid back. Half of these renew nevertheless. */
	readonly pause: number;
	readonly refund: number;
	/** When prices rise, in days, and by how much. */
	readonly riseDay: number;
	readonly rise: number;
	/** Of those who leave without having been paid back, the share that cancels before it is due. */
	readonly cancelled?: number;
}

export interface Simulated extends Journey {
	readonly plan: Plan;
	readonly channel: string;
	/** Whether each due was met, for those before the end. */
	readonly dues: readonly { readonly atMs: number; readonly isRenewed: boolean }[];
	/** When it truly began, was interrupted, went on and ended, in pairs. */
	readonly spells: readonly (readonly [fromMs: number, toMs: number])[];
}

/** What the business names for cancellations. */
export const cancellationEvt = 'goodbye';

export const beginMs = Date.UTC(2024, 0, 15, 9);

export function simulate(
	plans: readonly Plan[],
	trouble: Trouble,
	{
		subscriptions,
		days,
		random,
		dayOf = () => random() * days,
	}: {
		subscriptions: number;
		days: number;
		random: () => number;
		/** When one begins. */
		dayOf?: (subscription: number) => number;
	},
): Simulated[] {
	const endMs = beginMs + days * dayMs;
	const happens = (share: number) => random() < share;
	return Array.from({ length: subscriptions }, (_, number) => {
		const plan = drawn(plans, random);
		const channels = Object.keys(plan.churn);
		const channel = channels[Math.floor(random() * channels.length)] as string;
		const steps: { atMs: number; revenuePence: number; evt?: string }[] = [];
		const dues: { atMs: number; isRenewed: boolean }[] = [];
		const spells: [number, number][] = [];
		let anchorMs = beginMs + Math.floor(dayOf(number) * dayMs);
		let paidMs = anchorMs;
		let fromMs = anchorMs;
		for (let isFirst = true; paidMs < endMs; isFirst = false) {
			const price = Math.round(
				plan.pence * (paidMs > beginMs + trouble.riseDay * dayMs ? 1 + trouble.rise : 1),
			);
			if (isFirst || !happens(trouble.missing)) steps.push({ atMs: paidMs, revenuePence: price });
			const isRefunded = happens(trouble.refund);
			if (isRefunded) steps.push({ atMs: paidMs + Math.floor(random() * 5 * dayMs), revenuePence: -price });
			const dueMs = plan.weeks ? anchorMs + 7 * plan.weeks * dayMs : addMonths(anchorMs, plan.months);
			const leaves = isRefunded ? happens(0.5) : happens(plan.churn[channel] as number);
			if (dueMs < endMs) dues.push({ atMs: dueMs, isRenewed: !leaves });
			if (leaves && !isRefunded && trouble.cancelled && happens(trouble.cancelled))
				steps.push({
					atMs: Math.floor(paidMs + random() * (dueMs - paidMs)),
					revenuePence: 0,
					evt: cancellationEvt,
				});
			if (leaves) {
				spells.push([fromMs, isRefunded ? (steps.at(-1)?.atMs as number) : dueMs]);
				break;
			}
			anchorMs = dueMs;
			if (!isRefunded && happens(trouble.pause)) {
				spells.push([fromMs, dueMs]);
				anchorMs = addMonths(dueMs, 1 + Math.floor(random() * 3) + (plan.months > 1 ? 1 : 0));
				fromMs = anchorMs;
			}
			paidMs = anchorMs;
			if (happens(trouble.late)) paidMs += Math.floor(random() * trouble.lateDays * dayMs);
			else if (happens(trouble.early)) paidMs -= Math.floor(random() * 4 * dayMs);
			if (paidMs >= endMs) spells.push([fromMs, Number.POSITIVE_INFINITY]);
		}
		const events = steps
			.filter(({ atMs }) => atMs < endMs)
			.map((step) => ({ evt: 'membership', ...step, subid: `S-${number}`, shownAtMs: null }));
		const first = { atMs: beginMs, channel, source: null, medium: null, campaign: null, landing: null };
		return {
			subscription: subscriptionOf(events, null, cancellationEvt),
			path: [first],
			plan,
			channel,
			dues,
			spells,
		};
	});
}

function drawn(plans: readonly Plan[], random: () => number): Plan {
	let left = random() * plans.reduce((sum, { share }) => sum + share, 0);
	for (const plan of plans) {
		left -= plan.share;
		if (left < 0) return plan;
	}
	return plans[0] as Plan;
}

/** On the same day of the month, or its last one. */
export function addMonths(ms: number, months: number): number {
	const date = new Date(ms);
	const day = date.getUTCDate();
	date.setUTCDate(1);
	date.setUTCMonth(date.getUTCMonth() + months);
	const last = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
	date.setUTCDate(Math.min(day, last));
	return date.getTime();
}

/** A business of three plans, whose customers of one channel stay longer than those of the other. */
export const plans: readonly Plan[] = [
	{ name: 'monthly', months: 1, pence: 999, share: 0.6, churn: { email: 0.08, social: 0.25 } },
	{ name: 'quarterly', months: 3, pence: 2699, share: 0.2, churn: { email: 0.15, social: 0.3 } },
	{ name: 'annual', months: 12, pence: 9990, share: 0.2, churn: { email: 0.3, social: 0.5 } },
];

export const trouble: Trouble = {
	late: 0.15,
	lateDays: 12,
	missing: 0.01,
	early: 0.1,
	pause: 0.03,
	refund: 0.03,
	riseDay: 400,
	rise: 0.2,
};

interface Told {
	readonly what: string;
	readonly told: number;
	readonly truth: number;
	/** Of how many dues or months. */
	readonly of: number;
}

/** Monthly churn and renewal rates as reports tell them, and as they are, for each plan and channel. */
export function ratesOf(simulated: readonly Simulated[], days: number): Told[] {
	const asOfMs = beginMs + days * dayMs;
	const calendar = new Calendar('UTC');
	const journeys = coursesOf(simulated, {}, asOfMs);
	const planOf = (pence: unknown) =>
		plans.find((plan) => [1, 1 + trouble.rise].some((rise) => Math.round(plan.pence * rise) === pence));
	// The first months are few, the last are not over for those at risk.
	const spans = calendar.spans('month', beginMs, asOfMs);
	const judged = spans.slice(3, -2);
	const movement = describeMovement(journeys, { by: ['channel', 'price'], spans, asOfMs });
	const renewals = describeRenewals(journeys, { by: ['channel', 'price'], period: allTime, asOfMs });
	return plans.flatMap((plan) =>
		Object.keys(plan.churn).flatMap((channel) => {
			const isOwn = (row: Readonly<Record<string, unknown>>) =>
				row.channel === channel && planOf(row.pricePence) === plan;
			const own = simulated.filter((one) => one.plan === plan && one.channel === channel);
			const months = movement.filter(({ values, span }) => isOwn(values) && judged.includes(span));
			const opening = sum(months.map(({ row }) => row.subscriptions.opening));
			const lost = sum(months.map(({ row }) => (row.subscriptionChurn ?? 0) * row.subscriptions.opening));
			let [trulyThere, trulyLost] = [0, 0];
			for (const { spells } of own)
				for (const { fromMs, toMs } of judged) {
					const isThere = (ms: number) => spells.some(([from, to]) => from <= ms && ms < to);
					if (!isThere(fromMs)) continue;
					trulyThere++;
					if (!isThere(toMs)) trulyLost++;
				}
			const dues = own.flatMap((one) => one.dues);
			const ages = renewals.filter(isOwn).flatMap(({ survivors }) => survivors);
			const atRisk = sum(ages.map((age) => age.atRisk));
			const name = `${plan.name}, ${channel}`;
			return [
				{ what: `churn, ${name}`, told: lost / opening, truth: trulyLost / trulyThere, of: opening },
				{
					what: `renewals, ${name}`,
					told: sum(ages.map(({ renewed }) => renewed)) / atRisk,
					of: atRisk,
					truth: dues.filter(({ isRenewed }) => isRenewed).length / dues.length,
				},
			];
		}),
	);
}

/** What was projected on a day, and what those who were there then have paid in the year after, for each plan and channel. */
export function projectionsOf(simulated: readonly Simulated[], day: number) {
	const asOfMs = beginMs + day * dayMs;
	const known = simulated.flatMap((one) => {
		const { subscription: whole } = one;
		const steps = whole.steps.filter(({ atMs }) => atMs <= asOfMs);
		return steps.length > 0 ? [{ ...one, subscription: { ...whole, steps }, whole }] : [];
	});
	const courses = coursesOf(known, {}, asOfMs).filter(isPaid);
	const wholes = new Map(known.map(({ subscription: { subid }, whole }) => [subid, whole]));
	return [...Map.groupBy(courses, (one) => `${planOf(one)}, ${one.path[0]?.channel}`)].map(([what, own]) => {
		const cameAfter = own
			.filter(({ course: { lapsesAtMs } }) => lapsesAtMs === null || lapsesAtMs > asOfMs)
			.flatMap(({ subscription }) => wholes.get(subscription.subid)?.steps ?? [])
			.filter(({ kind, atMs }) => kind === 'renewal' && atMs > asOfMs && atMs <= asOfMs + 365 * dayMs);
		return {
			what,
			came: sum(cameAfter.map(({ revenuePence }) => revenuePence)),
			...projectionOf(own, new Renewals(own, asOfMs), asOfMs),
		};
	});
}

function sum(numbers: readonly number[]): number {
	return numbers.reduce((total, number) => total + number, 0);
}
