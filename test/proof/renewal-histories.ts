import { monthDays } from '../../src/core/domain/subscription-cadence.ts';
import { dayMs, hourMs } from '../../src/core/durations.ts';
import { seededRandom } from '../../src/kit/random.ts';
import type { PlainVisitor } from './plain-visitors.ts';

const startMs = Date.UTC(2018, 0, 1);

/** A kind of subscribers, whose next renewal is to be predicted. */
export interface KindOfRenewals {
	readonly name: string;
	readonly cadenceDays: number;
	/** Whether their renewals come from published counts. */
	readonly isPublic: boolean;
	readonly visitors: (seed: number) => PlainVisitor[];
}

interface Subscriber {
	readonly joinsDay: number;
	readonly renews: (payments: number) => boolean;
	readonly channel?: string;
	/** Days between visits, by the number of payments so far; none without. */
	readonly visitsEveryDays?: (isLast: boolean) => number;
}

function historyOf(
	{ joinsDay, renews, channel = 'direct', visitsEveryDays }: Subscriber,
	{ cadenceDays, days }: { readonly cadenceDays: number; readonly days: number },
	random: () => number,
): PlainVisitor {
	const hits: PlainVisitor['hits'][number][] = [{ atMs: startMs + joinsDay * dayMs, visit: 0, channel }];
	const sales: NonNullable<PlainVisitor['sales']>[number][] = [];
	for (let day = joinsDay, goesOn = true; goesOn && day < days; day += cadenceDays) {
		sales.push({ atMs: startMs + day * dayMs + hourMs, evt: 'news', pence: 4900 });
		goesOn = renews(sales.length);
		if (!visitsEveryDays) continue;
		const everyDays = visitsEveryDays(!goesOn);
		const end = Math.min(days, day + cadenceDays);
		for (
			let at = day - Math.log(1 - random()) * everyDays;
			at < end;
			at += 0.1 - Math.log(1 - random()) * everyDays
		)
			hits.push({ atMs: startMs + at * dayMs, visit: hits.length, channel });
	}
	const inTime = ({ atMs }: { readonly atMs: number }) => Math.floor(atMs);
	return {
		hits: hits.map((hit) => ({ ...hit, atMs: inTime(hit) })),
		sales: sales.map((sale) => ({ ...sale, atMs: inTime(sale) })),
	};
}

/** Yearly subscribers of ten years. Some leave soon and others hardly ever; nobody comes to the site. */
function yearly(seed: number): PlainVisitor[] {
	const random = seededRandom(Math.imul(seed, 0x9e3779b1));
	return Array.from({ length: 4000 }, () => {
		const channel = random() < 0.5 ? 'email' : 'paid';
		const leaves = random() ** (channel === 'email' ? 3 : 1.5);
		const renews = () => random() >= leaves;
		return historyOf(
			{ joinsDay: 3650 * random(), renews, channel },
			{ cadenceDays: 365.25, days: 3650 },
			random,
		);
	});
}

/** Monthly subscribers of two years. Some leave soon and others hardly ever; who is about to leave visits less often. */
function monthly(seed: number): PlainVisitor[] {
	const random = seededRandom(Math.imul(seed, 0x85ebca6b));
	return Array.from({ length: 2500 }, () => {
		const leaves = 0.3 * random() ** 2;
		const pace = 6 * Math.exp(1 - 2 * random());
		return historyOf(
			{
				joinsDay: 730 * random(),
				renews: () => random() >= leaves,
				visitsEveryDays: (isLast) => (isLast && random() < 0.7 ? 6 * pace : pace),
			},
			{ cadenceDays: monthDays, days: 730 },
			random,
		);
	});
}

/**
 * Of a thousand customers each, how many were left after so many renewals (Berry & Linoff 2004, "Data Mining Techniques", by Fader &
 * Hardie 2007, "How to project customer retention").
 */
const published = {
	'regular customers': [1000, 631, 468, 382, 326, 289, 262, 241, 223, 207, 194, 183, 173],
	'high-end customers': [1000, 869, 743, 653, 593, 551, 517, 491, 468, 445, 427, 409, 394],
} as const;

function publishedCustomers(name: keyof typeof published): (seed: number) => PlainVisitor[] {
	return (seed) => {
		const random = seededRandom(seed);
		const left = published[name];
		return Array.from({ length: 3 * left[0] }, (_, number) => {
			const renews = (payments: number) => number % left[0] < (left[payments] ?? 0);
			return historyOf({ joinsDay: 3650 * random(), renews }, { cadenceDays: 365.25, days: 3650 }, random);
		});
	};
}

export const kindsOfRenewals: readonly KindOfRenewals[] = [
	{ name: 'yearly, without visits', cadenceDays: 365.25, isPublic: false, visitors: yearly },
	{ name: 'monthly, with visits', cadenceDays: monthDays, isPublic: false, visitors: monthly },
	...(Object.keys(published) as (keyof typeof published)[]).map((name) => ({
		name: `published counts of ${name}`,
		cadenceDays: 365.25,
		isPublic: true,
		visitors: publishedCustomers(name),
	})),
];
