import { About } from './alike.ts';
import {
	type Asked,
	countedIn,
	dayMs,
	type Figures,
	isIn,
	labelOf,
	labelsOf,
	monthOf,
	monthsBetween,
	ratio,
	readLog,
	type Subscription,
	sum,
	weightsOf,
} from './journeys.ts';
import type { Log, LoggedEvent } from './stored-log.ts';

/** The same as `path-sums.ts` for the other reports. */

/** The first touch of a subscription. */
function originOf({ path: [first] }: Subscription, asked: Asked): string {
	return asked.by.length === 0 ? '' : first ? labelOf(first, asked) : '(none)';
}

/** The subscriptions acquired in the period. */
function acquiredIn(log: Log, asked: Asked): Subscription[] {
	return countedIn(readLog(log, asked).subscriptions, asked)
		.filter(({ subscription, isAcquired }) => isAcquired && subscription.acquisition)
		.map(({ subscription }) => subscription);
}

export function lifetimeValues(log: Log, asked: Asked): Figures {
	const figures: Figures = new Map();
	const acquired = acquiredIn(log, asked);
	const monthNow = monthOf(asked.asOfMs, asked);
	const firstMonth = acquired.map(({ first }) => monthOf(first.atMs, asked)).sort()[0];
	const rows = Map.groupBy(acquired, (one) => `${monthOf(one.first.atMs, asked)} ${originOf(one, asked)}`);
	for (const [name, own] of rows) {
		const month = name.slice(0, 7);
		figures.set(`${name}: subscriptions`, own.length);
		for (let age = 0; age <= monthsBetween(firstMonth ?? '', monthNow); age++) {
			const until = own.flatMap(({ events }) =>
				events.filter(({ atMs }) => monthsBetween(month, monthOf(atMs, asked)) <= age),
			);
			const isOver = monthsBetween(month, monthNow) > age;
			const pence = sum(until.map(({ rvn }) => rvn));
			figures.set(`${name}: pence ${age}`, isOver ? pence : null);
			figures.set(`${name}: each ${age}`, isOver ? new About(pence / own.length, 0.005_1) : null);
		}
	}
	return figures;
}

export function renewals(log: Log, asked: Asked): Figures {
	const figures: Figures = new Map();
	const acquired = acquiredIn(log, asked);
	for (const own of Map.groupBy(acquired, (one) => `${one.first.evt}: ${originOf(one, asked)}`).entries()) {
		const [name, some] = own;
		const gaps = acquired
			.filter(({ first }) => first.evt === some[0]?.first.evt)
			.flatMap(({ events }) => {
				const paid = events.filter(({ rvn }) => rvn >= 0);
				return paid.slice(1).map(({ atMs }, place) => (atMs - (paid[place] as LoggedEvent).atMs) / dayMs);
			})
			.sort((a, b) => a - b);
		const middle = (gaps.length - 1) / 2;
		const days = gaps.length ? ((gaps[Math.floor(middle)] ?? 0) + (gaps[Math.ceil(middle)] ?? 0)) / 2 : 0;
		figures.set(`${name} subscriptions`, some.length);
		figures.set(`${name} days`, days > 0 ? new About(days, 0.005_1) : null);
		const refunded = some.filter(({ events }) => events.some(({ rvn }) => rvn < 0));
		figures.set(`${name} refunds`, ratio(refunded.length, some.length));
		let left = 1;
		for (let age = 1; days > 0 && age <= 60; age++) {
			const couldRenew = some.filter(
				({ convertedAtMs }) => convertedAtMs + (age * days + 7) * dayMs <= asked.asOfMs,
			);
			if (couldRenew.length === 0) break;
			const renewalsOf = ({ events, acquisition }: Subscription) =>
				events.filter((event) => event !== acquisition && event.rvn >= 0).length;
			const renewed = couldRenew.filter((one) => renewalsOf(one) >= age).length;
			const atRisk = couldRenew.filter((one) => renewalsOf(one) >= age - 1).length;
			left = (left * renewed) / atRisk;
			figures.set(`${name} ${age} eligible`, couldRenew.length);
			figures.set(`${name} ${age} renewed`, renewed);
			figures.set(`${name} ${age} at risk`, atRisk);
			figures.set(`${name} ${age} left`, Number.isNaN(left) ? null : new About(left, 0.000_051));
		}
	}
	return figures;
}

export function coverage(log: Log, asked: Asked): Figures {
	const { log: known, owners } = readLog(log, asked);
	const figures: Figures = new Map();
	const add = (name: string, number: number) =>
		figures.set(name, ((figures.get(name) as number) ?? 0) + number);
	for (const { tid, evt, rvn, atMs } of known.events) {
		if (!isIn(asked, atMs) || (asked.evt !== null && evt !== asked.evt)) continue;
		const owner = owners.get(tid);
		const by = owner?.vid ? ['subid', 'cid', 'tid'][owner.named] : 'unjoined';
		const name = asked.by.length === 0 ? 'all' : `${monthOf(atMs, asked)} ${evt}`;
		for (const column of ['tid', 'cid', 'subid', 'unjoined']) {
			add(`${name}: ${column}`, column === by ? 1 : 0);
			add(`${name}: ${column}Pence`, column === by ? rvn : 0);
		}
		add(`${name}: events`, 1);
	}
	return figures;
}

export interface Spent {
	readonly day: string;
	readonly channel: string;
	readonly campaign: string;
	readonly pence: number;
}

/** By channel or by nothing, credited by `model`. Days begin at midnight UTC. */
export function spending(log: Log, asked: Asked, spent: readonly Spent[], model: string): Figures {
	const figures: Figures = new Map();
	const acquired = acquiredIn(log, asked);
	const inPeriod = spent.filter(({ day }) => isIn(asked, Date.parse(day)));
	for (const [label, own] of Map.groupBy(inPeriod, ({ channel }) => (asked.by.length === 0 ? '' : channel))) {
		const cost = sum(own.map(({ pence }) => pence));
		const credited = acquired.map((one) => {
			const labels = labelsOf(one, asked);
			const weights = asked.by.length === 0 ? [1] : weightsOf(model, one);
			return { one, weight: sum(weights.filter((_, place) => labels[place] === label)) };
		});
		const until = (age: number) =>
			sum(
				credited.map(({ one, weight }) => {
					const month = monthOf(one.first.atMs, asked);
					const some = one.events.filter(({ atMs }) => monthsBetween(month, monthOf(atMs, asked)) <= age);
					return weight * sum(some.map(({ rvn }) => rvn));
				}),
			);
		const number = sum(credited.map(({ weight }) => weight));
		const net = until(Number.POSITIVE_INFINITY);
		figures.set(`${label}: spent`, cost);
		figures.set(`${label}: subscriptions`, new About(number, 0.000_051));
		figures.set(`${label}: net`, new About(net, 0.51));
		const each = cost / number;
		figures.set(
			`${label}: each`,
			number < 0.000_05 ? null : new About(each, 0.01 + (each * 0.0001) / number),
		);
		figures.set(`${label}: return`, cost === 0 ? null : new About(net / cost, 0.000_051 + 0.5 / cost));
		const ages = acquired.flatMap(({ first, events }) =>
			events.map(({ atMs }) => monthsBetween(monthOf(first.atMs, asked), monthOf(atMs, asked)) + 1),
		);
		const months = Array.from({ length: Math.max(0, ...ages) }, (_, age) => age);
		figures.set(`${label}: payback`, months.find((age) => until(age) >= cost - 1e-6) ?? null);
	}
	return figures;
}
