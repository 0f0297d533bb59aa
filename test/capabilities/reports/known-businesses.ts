import type { RenewalDays } from '../../../src/core/domain/subscription-cadence.ts';
import { subscriptionOf } from '../../../src/core/domain/subscription-steps.ts';
import { dayMs, hourMs, minuteMs } from '../../../src/core/durations.ts';
import { seededRandom } from '../../../src/kit/random.ts';
import type { Journey } from '../../../src/kit/reports/journey.ts';
import { addMonths } from './simulated-business.ts';

/**
 * Businesses that publishers have, whose truth is known: who is there at each moment, and what they pay a month, comes from the
 * state of the simulation, and not from payments.
 */

/** Either so many months of the calendar, or so many days. */
interface Every {
	readonly months?: number;
	readonly days?: number;
}

interface Terms {
	readonly every: Every;
	/** Of a payment, 0 for the first. */
	readonly price: (payment: number, dueMs: number) => number;
	/** Further lines of each payment, a minute later. */
	readonly more?: readonly number[];
	/** Of those who are due, the share that does not renew. */
	readonly churn: number;
	readonly evt?: string;
	readonly subid?: string;
	/** A share of renewals that come late, and whether the next is due as if they had not. */
	readonly late?: { readonly share: number; readonly days: number; readonly keepsDay: boolean };
	/** Of those who go on, the share that pauses for one to three months. */
	readonly pause?: number;
	/** Called after each payment. Returns whether, and when, it has ended by something else, or `unsent` if no event is sent. */
	readonly instead?: (
		payment: number,
		paidMs: number,
		dueMs: number,
	) => 'free' | 'unsent' | number | undefined;
	/** After so many payments it ends, or somebody goes on in another way. */
	readonly payments?: number;
}

interface Change {
	readonly atMs: number;
	/** Per month from then on; null after it has ended. */
	readonly pence: number | null;
}

interface Event {
	readonly subid: string;
	readonly evt: string;
	readonly atMs: number;
	readonly revenuePence: number;
}

/** A customer, with what was uploaded, and what is true. */
class Person {
	readonly events: Event[] = [];
	readonly changes = new Map<string, Change[]>();
	/** When payments were due, whether they came or not. */
	readonly dues: number[] = [];

	readonly cid: string;
	readonly beginMs: number;
	/** Of the history. */
	readonly endMs: number;
	readonly random: () => number;

	constructor({ cid, beginMs, endMs, random }: Pick<Person, 'cid' | 'beginMs' | 'endMs' | 'random'>) {
		this.cid = cid;
		this.beginMs = beginMs;
		this.endMs = endMs;
		this.random = random;
	}

	happens(share: number): boolean {
		return this.random() < share;
	}

	send(atMs: number, revenuePence: number, evt = 'membership', subid = this.cid): void {
		const event = { subid, evt, atMs: Math.round(atMs), revenuePence };
		if (event.atMs < this.endMs) this.events.push(event);
	}

	/** From then on it is paid so much for a month; null if it has ended. */
	stand(atMs: number, pence: number | null, subid = this.cid): void {
		this.changes.getOrInsertComputed(subid, () => []).push({ atMs: Math.round(atMs), pence });
	}

	/** Pays until it ends. @returns when it was due last; after the end of the history, if it has not ended */
	subscribe(fromMs: number, terms: Terms): number {
		const { every, late, evt, subid = this.cid, more = [], payments = Number.POSITIVE_INFINITY } = terms;
		let [anchorMs, times] = [fromMs, 0];
		let standing: number | null = null;
		for (let payment = 0; ; payment++) {
			const isLate = payment > 0 && late && this.happens(late.share);
			const dueMs = after(anchorMs, every, times);
			const paidMs = dueMs + (isLate ? late.days * dayMs : 0);
			if (paidMs >= this.endMs) return paidMs;
			const pence = terms.price(payment, dueMs);
			if (isLate && !late.keepsDay) [anchorMs, times] = [paidMs, 0];
			const nextMs = after(anchorMs, every, ++times);
			this.dues.push(nextMs);
			const instead = terms.instead?.(payment, paidMs, nextMs);
			const lines = instead === 'unsent' ? [] : instead === 'free' ? [0] : [pence, ...more];
			for (const [line, each] of lines.entries()) this.send(paidMs + line * minuteMs, each, evt, subid);
			const paid = lines.reduce((sum, each) => sum + each, 0);
			const value: number | null = instead === 'unsent' ? standing : perMonth(paid, every);
			if (value !== standing) this.stand(paidMs, value, subid);
			standing = value;
			if (typeof instead === 'number') {
				this.stand(instead, null, subid);
				return instead;
			}
			if (payment + 1 >= payments) return nextMs;
			if (this.happens(terms.churn)) {
				this.stand(nextMs, null, subid);
				return nextMs;
			}
			if (!terms.pause || !this.happens(terms.pause)) continue;
			this.stand(nextMs, null, subid);
			standing = null;
			[anchorMs, times] = [addMonths(nextMs, 1 + Math.floor(3 * this.random())), 0];
		}
	}
}

function after(ms: number, { months, days = 0 }: Every, times: number): number {
	return months ? addMonths(ms, months * times) : ms + days * times * dayMs;
}

function perMonth(pence: number, { months, days = 0 }: Every): number {
	return months ? pence / months : (pence * 365.25) / 12 / days;
}

export interface KnownBusiness {
	readonly name: string;
	/** Whether it is judged by what is known when it is so many days old, instead of months of a long history. */
	readonly youngDays?: number;
	/** What the operator has said. */
	readonly setDays?: RenewalDays;
	/** What cannot be known of it, so that a report must say so: which figures, and a part of the warning. */
	readonly unknown?: { readonly figures: 'final' | 'early'; readonly says: string };
	readonly live: (person: Person) => void;
}

const month = { months: 1 };
const year = { months: 12 };
const fixed = (pence: number) => () => pence;
const monthly: Terms = { every: month, price: fixed(499), churn: 0.05 };
const annual: Terms = { every: year, price: fixed(4990), churn: 0.3 };
const weekly: Terms = { every: { days: 7 }, price: fixed(150), churn: 0.035 };
const gift = (months: number, pence: number, evt?: string): Terms => ({
	every: { months },
	price: fixed(pence),
	churn: 1,
	...(evt && { evt }),
});

const simple = (name: string, terms: Terms): KnownBusiness => ({
	name,
	live: (person) => void person.subscribe(person.beginMs, terms),
});

/** Each person has one of several ways, whose shares add up to 1. */
const mixed = (
	name: string,
	ways: readonly (readonly [share: number, terms: Terms])[],
	more: Partial<KnownBusiness> = {},
): KnownBusiness => ({
	name,
	...more,
	live(person) {
		let left = person.random();
		for (const [share, terms] of ways) {
			left -= share;
			if (left < 0) return void person.subscribe(person.beginMs, terms);
		}
	},
});

const late = (name: string, terms: Terms, days: number, keepsDay: boolean) =>
	simple(`${name}, a tenth paid ${days} days late${keepsDay ? ', billing day kept' : ''}`, {
		...terms,
		late: { share: 0.1, days, keepsDay },
	});

const trial = (pence: number, days: number): KnownBusiness => ({
	name: `trial of ${days} days for ${pence}`,
	live(person) {
		person.send(person.beginMs, pence);
		if (person.happens(0.525)) person.subscribe(person.beginMs + days * dayMs, monthly);
	},
});

/** Of payments, a share is followed by something. */
const sometimes = (name: string, share: number, terms: Terms, what: Occasion): KnownBusiness => ({
	name,
	live: (person) =>
		void person.subscribe(person.beginMs, {
			...terms,
			instead: (payment, paidMs, dueMs) =>
				person.happens(share) ? what(person, { payment, paidMs, dueMs }) : undefined,
		}),
});
type Occasion = (
	person: Person,
	at: { readonly payment: number; readonly paidMs: number; readonly dueMs: number },
) => ReturnType<NonNullable<Terms['instead']>>;

const riseMs = Date.UTC(2025, 8, 1);
const named = (terms: Terms, evt: string): Terms => ({ ...terms, evt });
const fivePlans = (isOwn: boolean): readonly (readonly [number, Terms])[] =>
	(
		[
			[0.35, monthly, 'monthly'],
			[0.15, { ...monthly, price: fixed(899), churn: 0.06 }, 'plus'],
			[0.15, { every: { months: 3 }, price: fixed(1299), churn: 0.12 }, 'quarter'],
			[0.25, annual, 'annual'],
			[0.1, { ...weekly, price: fixed(149), churn: 0.04 }, 'weekly'],
		] as const
	).map(([share, terms, evt]) => [share, isOwn ? named(terms, evt) : terms] as const);

/** Changes from a monthly to an annual plan, with or without another `subid`. */
const upgrade = (isOther: boolean): KnownBusiness => ({
	name: `upgrade from monthly to annual, ${isOther ? 'other subid' : 'same subid'}`,
	live(person) {
		const payments = person.happens(0.2) ? 3 + Math.floor(9 * person.random()) : 1000;
		const subid = isOther ? `${person.cid}-annual` : person.cid;
		const endMs = person.subscribe(person.beginMs, { ...monthly, payments });
		const has = person.changes.get(person.cid)?.at(-1);
		if (endMs >= person.endMs || has?.pence === null) return;
		if (isOther) person.stand(endMs, null);
		person.subscribe(endMs, { ...annual, subid });
	},
});

const nobodyRenewed = { figures: 'final', says: 'It is unknown how often' } as const;

export const knownBusinesses: readonly KnownBusiness[] = [
	simple('monthly', monthly),
	simple('annual', annual),
	simple('every 28 days', { every: { days: 28 }, price: fixed(499), churn: 0.055 }),
	simple('weekly', weekly),
	simple('quarterly', { every: { months: 3 }, price: fixed(1299), churn: 0.15 }),
	simple('price rise from 499 to 599', { ...monthly, price: (_, dueMs) => (dueMs < riseMs ? 499 : 599) }),
	simple('price rise from 499 to 999', { ...monthly, price: (_, dueMs) => (dueMs < riseMs ? 499 : 999) }),
	simple('three months for 100 each, then 499', {
		...monthly,
		price: (payment) => (payment < 3 ? 100 : 499),
	}),
	simple('first year for half', { ...annual, price: (payment) => (payment === 0 ? 2495 : 4990) }),
	simple('pauses', { ...monthly, churn: 0.05, pause: 0.03 }),
	late('monthly', monthly, 9, false),
	late('annual', annual, 9, false),
	late('weekly', weekly, 9, false),
	late('monthly', monthly, 17, false),
	late('monthly', monthly, 9, true),
	late('annual', annual, 9, true),
	late('weekly', weekly, 4, true),
	late('monthly', monthly, 17, true),
	trial(0, 14),
	trial(0, 30),
	trial(100, 7),
	{
		name: 'a tenth lifetime, own evt, said to be paid once',
		setDays: { lifetime: 'never' },
		live(person) {
			if (person.happens(0.9)) return void person.subscribe(person.beginMs, monthly);
			person.send(person.beginMs, 14_900, 'lifetime');
			// There for ever, without recurring revenue.
			person.stand(person.beginMs, 0);
		},
	},
	{
		name: 'a tenth lifetime, own evt, nothing said',
		unknown: { figures: 'final', says: 'No subscription with the event type lifetime has been renewed yet' },
		live(person) {
			if (person.happens(0.9)) return void person.subscribe(person.beginMs, monthly);
			person.send(person.beginMs, 14_900, 'lifetime');
			person.stand(person.beginMs, 0);
		},
	},
	mixed('a tenth gifts of 6 months', [
		[0.9, monthly],
		[0.1, gift(6, 2700)],
	]),
	mixed('a tenth gifts of 12 months, own evt', [
		[0.9, monthly],
		[0.1, gift(12, 4990, 'gift')],
	]),
	mixed('a tenth gifts of 12 months, same evt', [
		[0.9, monthly],
		[0.1, gift(12, 4990)],
	]),
	upgrade(false),
	upgrade(true),
	sometimes('refunds of all, of whom leaves', 0.01, monthly, (person, { paidMs }) => {
		const backMs = paidMs + (1 + 4 * person.random()) * dayMs;
		person.send(backMs, -499);
		return backMs;
	}),
	sometimes('refunds of a part', 0.03, monthly, (person, { paidMs }) => {
		person.send(paidMs + 3 * dayMs, -150);
		return undefined;
	}),
	sometimes('refund of the unused share of annual plans', 0.1, annual, (person, { paidMs, dueMs }) => {
		const backMs = paidMs + (30 + 240 * person.random()) * dayMs;
		person.send(backMs, -Math.round((4990 * (dueMs - backMs)) / (dueMs - paidMs)));
		return backMs;
	}),
	sometimes('paid twice within an hour, once refunded', 0.03, monthly, (person, { paidMs }) => {
		person.send(paidMs + hourMs, 499);
		person.send(paidMs + 2 * dayMs, -499);
		return undefined;
	}),
	sometimes('paid twice within two days, once refunded', 0.03, monthly, (person, { paidMs }) => {
		person.send(paidMs + 2 * dayMs, 499);
		person.send(paidMs + 4 * dayMs, -499);
		return undefined;
	}),
	{
		name: 'refund dated a minute before the sale',
		live(person) {
			if (person.happens(0.95)) return void person.subscribe(person.beginMs, monthly);
			person.send(person.beginMs, 499);
			person.send(person.beginMs - minuteMs, -499);
			person.stand(person.beginMs, 499);
			person.stand(person.beginMs, null);
		},
	},
	sometimes('free months, uploaded', 0.02, monthly, (_, { payment }) => (payment > 0 ? 'free' : undefined)),
	{
		...sometimes('free months, not uploaded', 0.02, monthly, (_, { payment }) =>
			payment > 0 ? 'unsent' : undefined,
		),
		unknown: { figures: 'final', says: 'after whole periods without a payment' },
	},
	{
		name: 'upgrade with proration',
		live(person) {
			const upgrades = person.happens(0.3) ? 2 + Math.floor(8 * person.random()) : 1000;
			person.subscribe(person.beginMs, {
				...monthly,
				price: (payment) => (payment <= upgrades ? 499 : 899),
				instead(payment, paidMs, dueMs) {
					if (payment !== upgrades) return undefined;
					const share = 0.1 + 0.8 * person.random();
					const upgradeMs = paidMs + share * (dueMs - paidMs);
					person.send(upgradeMs, Math.round(400 * (1 - share)));
					person.stand(upgradeMs, 899);
					return undefined;
				},
			});
		},
	},
	simple('two lines a payment', { ...monthly, price: fixed(399), more: [100] }),
	mixed('annual at 8 times the month', [
		[0.6, monthly],
		[0.4, { ...annual, price: fixed(3992) }],
	]),
	mixed('quarter at 1.7 times the month', [
		[0.6, monthly],
		[0.4, { every: { months: 3 }, price: fixed(848), churn: 0.15 }],
	]),
	mixed('five plans, one evt', fivePlans(false)),
	mixed('five plans, own evts', fivePlans(true)),
	mixed(
		'monthly and every 28 days at one price',
		[
			[0.5, monthly],
			[0.5, { ...monthly, every: { days: 28 } }],
		],
		{ unknown: { figures: 'early', says: 'a price that is paid at several intervals' } },
	),
	{
		name: 'all on the 31st',
		live(person) {
			const date = new Date(person.beginMs);
			const month31 = [0, 2, 4, 6, 7, 9, 11].findLast((each) => each <= date.getUTCMonth()) as number;
			const beginMs = Date.UTC(date.getUTCFullYear(), month31, 31) + person.random() * dayMs;
			person.subscribe(beginMs, monthly);
		},
	},
	{
		name: 'several titles of a customer',
		live(person) {
			const titles = person.happens(0.25) ? 3 : 1;
			for (let title = 0; title < titles; title++)
				person.subscribe(person.beginMs + title * 20 * dayMs * person.random(), {
					...monthly,
					subid: `${person.cid}-${title}`,
				});
		},
	},
	{ ...simple('annual only, 8 months old', annual), youngDays: 243, unknown: nobodyRenewed },
	{ ...simple('monthly only, 3 weeks old', monthly), youngDays: 21, unknown: nobodyRenewed },
	mixed(
		'monthly and annual, 6 weeks old',
		[
			[0.6, monthly],
			[0.4, annual],
		],
		{ youngDays: 42 },
	),
	mixed(
		'weekly and monthly, 6 weeks old',
		[
			[0.5, weekly],
			[0.5, monthly],
		],
		{ youngDays: 42 },
	),
];

export const firstDayMs = Date.UTC(2024, 0, 1);

/** A business from its first day on, for so many days. */
export interface Lived {
	readonly beginMs: number;
	readonly endMs: number;
	readonly people: readonly Person[];
	readonly journeys: readonly Journey[];
	readonly customerOf: (subid: string) => string | undefined;
}

export function lived({ live, name }: KnownBusiness, { people, days, seed }: Life): Lived {
	const random = seededRandom(seed);
	const endMs = firstDayMs + days * dayMs;
	const all = Array.from({ length: people }, (_, number) => {
		const beginMs = Math.round(firstDayMs + random() * (endMs - firstDayMs));
		const person = new Person({ cid: `${name}-${number}`, beginMs, endMs, random });
		live(person);
		for (const changes of person.changes.values()) changes.sort((a, b) => a.atMs - b.atMs);
		return person;
	});
	const cids = new Map<string, string>();
	const journeys = all.flatMap(({ cid, events }) =>
		[...Map.groupBy(events, ({ subid }) => subid)].map(([subid, own]): Journey => {
			cids.set(subid, cid);
			const occurred = own.map((event) => ({ ...event, shownAtMs: null }));
			return { subscription: subscriptionOf(occurred, null), path: [] };
		}),
	);
	return { beginMs: firstDayMs, endMs, people: all, journeys, customerOf: (subid) => cids.get(subid) };
}

interface Life {
	readonly people: number;
	readonly days: number;
	readonly seed: number;
}

/** Whom something is counted of: subscriptions, or customers with all theirs. */
export type Counted = 'subscriptions' | 'customers';

/** What is paid a month at a moment, for each who is there. */
export function thereAt({ people }: Lived, counted: Counted, ms: number): Map<string, number> {
	const there = new Map<string, number>();
	for (const { cid, changes } of people)
		for (const [subid, own] of changes) {
			const name = counted === 'customers' ? cid : subid;
			const { pence } = own.findLast(({ atMs }) => atMs < ms) ?? { pence: null };
			if (pence !== null) there.set(name, (there.get(name) ?? 0) + pence);
		}
	return there;
}

/** How many were there for the first time. */
export function newIn({ people }: Lived, counted: Counted, fromMs: number, toMs: number): number {
	const firsts = people.flatMap(({ changes }) => {
		const own = [...changes.values()].map(([first]) => first?.atMs as number);
		return counted === 'customers' ? [Math.min(...own)] : own;
	});
	return firsts.filter((ms) => ms >= fromMs && ms < toMs).length;
}
