import type { Log } from '../core/store/stored-log.ts';
import { About } from './alike.ts';
import { lastingIn } from './cadence-sums.ts';
import {
	type Asked,
	countedIn,
	type Figures,
	isAsked,
	isIn,
	labelOf,
	labelsOf,
	monthOf,
	monthsBetween,
	names,
	readLog,
	type Subscription,
	spansFrom,
	sum,
	weightsOf,
} from './journeys.ts';
import { claimedIn } from './model.ts';
import { lostPaths, markovShares } from './path-sums.ts';

/** The same as `path-sums.ts` for the other reports. */

/** The first touch of a subscription, its `evt` and its first price, as far as they are asked for. */
export function groupOf(one: Subscription, asked: Pick<Asked, 'groups'>, pricePence: number): string {
	const [first] = one.path;
	const namedBy = (name: string) => {
		if (name === 'evt') return one.first.evt;
		if (name === 'price') return String(pricePence);
		return first ? labelOf(first, { by: [name as 'channel'] }) : '(none)';
	};
	return asked.groups.map(namedBy).join(' | ');
}

/** The subscriptions and trials that started in the period. */
function startedIn(log: Log, asked: Asked): Subscription[] {
	return countedIn(readLog(log, asked).subscriptions, asked)
		.filter(({ subscription, isAcquired }) => isAcquired && subscription.start)
		.map(({ subscription }) => subscription);
}

/** The subscriptions that began in the period, with the payments since. */
export function begunIn(log: Log, asked: Asked) {
	const triedOf = lastingIn(log, asked);
	return countedIn(readLog(log, asked).subscriptions, asked).flatMap(({ subscription: one }) => {
		const tried = triedOf(one);
		const [first] = tried.payments;
		if (!first || !isIn(asked, first.atMs)) return [];
		return [{ ...one, tried, begunAtMs: first.atMs, group: groupOf(one, asked, first.pence) }];
	});
}

export function lifetimeValues(log: Log, asked: Asked): Figures {
	const figures: Figures = new Map();
	const acquired = begunIn(log, asked);
	const ages: { of: number; pence: number }[] = [];
	const monthNow = monthOf(asked.asOfMs, asked);
	const firstMonth = acquired.map(({ begunAtMs }) => monthOf(begunAtMs, asked)).sort()[0];
	const rows = Map.groupBy(acquired, ({ begunAtMs, group }) => `${monthOf(begunAtMs, asked)} ${group}`);
	for (const [name, own] of rows) {
		const month = name.slice(0, 7);
		figures.set(`${name}: subscriptions`, own.length);
		let before = 0;
		for (let age = 0; age <= Math.min(asked.months, monthsBetween(firstMonth ?? '', monthNow)); age++) {
			const until = own.flatMap(({ events }) =>
				events.filter(({ atMs }) => monthsBetween(month, monthOf(atMs, asked)) <= age),
			);
			const isOver = monthsBetween(month, monthNow) > age;
			const pence = sum(until.map(({ rvn }) => rvn));
			figures.set(`${name}: pence ${age}`, isOver ? pence : null);
			figures.set(`${name}: each ${age}`, isOver ? new About(pence / own.length, 0.005_1) : null);
			if (!isOver) continue;
			const all = ages[age] ?? { of: 0, pence: 0 };
			ages[age] = { of: all.of + own.length, pence: all.pence + pence - before };
			before = pence;
		}
		const toDate = sum(own.flatMap(({ events }) => events.map(({ rvn }) => rvn)));
		figures.set(`${name}: to date`, toDate);
		figures.set(`${name}: each to date`, new About(toDate / own.length, 0.005_1));
	}
	let value = 0;
	for (const [age, { of, pence }] of ages.entries()) {
		value += pence / of;
		figures.set(`all ${age}: subscriptions`, of);
		figures.set(`all ${age}: each`, new About(value, 0.005_1));
	}
	return figures;
}

export function coverage(log: Log, asked: Asked): Figures {
	const { log: known, owners } = readLog(log, asked);
	const claimed = claimedIn(known, owners);
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
		add(`${name}: claimed`, claimed.has(tid) ? 1 : 0);
		add(`${name}: claimedPence`, claimed.has(tid) ? rvn : 0);
		add(`${name}: events`, 1);
	}
	return figures;
}

export function activity(log: Log, asked: Asked): Figures {
	const { log: known, touches, subscriptions, gateways } = readLog(log, asked);
	const counted = countedIn(subscriptions, asked);
	const figures: Figures = new Map<string, unknown>(
		names.map((name) => [`total ${name}`, sum(counted.map(({ amounts }) => amounts[name]))]),
	);
	const came = [...touches.values()].flat().filter((touch) => isAsked(touch, asked));
	const isOfAll = asked.evt === null && asked.moreHitsThan < 0;
	const all = counted.flatMap(({ subscription: { start, acquisition, cancellations, events } }) =>
		events
			.filter((event) => !cancellations.has(event))
			.map((event) => {
				const paid = event === acquisition ? 'acquisition' : 'renewal';
				const kind = event.rvn < 0 ? 'refund' : event === start && event.rvn === 0 ? 'trial' : paid;
				return { ...event, kind };
			}),
	);
	// Of hits that were pruned, touches may be kept: those of mail gateways, too, which no figure counts.
	const moments = [known.events, known.hits, known.kept.touches].flat().map(({ atMs }) => atMs);
	const firstMs = moments.reduce((first, atMs) => Math.min(first, atMs), Infinity);
	for (const { name, fromMs, toMs } of spansFrom(firstMs, asked.every ?? 'day', asked)) {
		const within = ({ atMs }: { readonly atMs: number }) => atMs >= fromMs && atMs < toMs;
		const own = all.filter(within);
		const hits = known.hits.filter((hit) => within(hit) && !gateways.has(hit.vid)).length;
		figures.set(`${name}: hits`, isOfAll && Object.keys(asked.touch).length === 0 ? hits : null);
		figures.set(`${name}: arrivals`, isOfAll ? came.filter(within).length : null);
		figures.set(`${name}: trials`, own.filter(({ kind }) => kind === 'trial').length);
		for (const [kind, heading] of [
			['acquisition', 'subscriptions'],
			['renewal', 'renewals'],
			['refund', 'refunds'],
		] as const) {
			const some = own.filter((event) => event.kind === kind);
			figures.set(`${name}: ${heading}`, some.length);
			figures.set(`${name}: ${kind}Pence`, sum(some.map(({ rvn }) => rvn)));
		}
		figures.set(`${name}: netPence`, sum(own.map(({ rvn }) => rvn)));
	}
	return figures;
}

export interface Spent {
	readonly day: string;
	readonly channel: string;
	readonly campaign: string;
	readonly pence: number;
}

/** By channel, campaign or nothing, credited by `model`. */
export function spending(log: Log, asked: Asked, spent: readonly Spent[], model: string): Figures {
	const figures: Figures = new Map();
	const acquired = startedIn(log, asked);
	const triedOf = lastingIn(log, asked);
	const known = acquired.map((one) => labelsOf(one, asked)).filter((labels) => labels.length > 0);
	const lost = model === 'markov' ? lostPaths(readLog(log, asked), asked).paths : [];
	if (model === 'markov' && (known.length === 0 || lost.length === 0)) return figures;
	const share = model === 'markov' ? markovShares(known, lost) : undefined;
	const inPeriod = spent.filter(
		({ day }) => (asked.from === null || day >= asked.from) && (asked.to === null || day < asked.to),
	);
	for (const [label, own] of Map.groupBy(inPeriod, (each) =>
		asked.by.map((name) => each[name as 'channel' | 'campaign'] || '(not set)').join(' | '),
	)) {
		const cost = sum(own.map(({ pence }) => pence));
		const credited = acquired.map((one) => {
			const labels = labelsOf(one, asked);
			if (share) {
				const own = [...new Set(labels)];
				const total = sum(own.map(share));
				const part = total > 1e-12 ? share(label) / total : 1 / own.length;
				return {
					one,
					weight: labels.length > 0 ? share(label) : 0,
					refundWeight: own.includes(label) ? part : 0,
				};
			}
			const weights = asked.by.length === 0 ? [1] : weightsOf(model, one, asked);
			const weight = sum(weights.filter((_, place) => labels[place] === label));
			return { one, weight, refundWeight: weight };
		});
		const until = (age: number) =>
			sum(
				credited.map(({ one, weight, refundWeight }) => {
					const month = monthOf(one.first.atMs, asked);
					const some = one.events.filter(({ atMs }) => monthsBetween(month, monthOf(atMs, asked)) <= age);
					return sum(some.map(({ rvn }) => rvn * (rvn < 0 ? refundWeight : weight)));
				}),
			);
		const isPaid = ({ one }: (typeof credited)[number]) => triedOf(one).payments.length > 0;
		const isTried = ({ one }: (typeof credited)[number]) => triedOf(one).triedAtMs !== null;
		const number = sum(credited.filter(isPaid).map(({ weight }) => weight));
		figures.set(
			`${label}: trials`,
			new About(sum(credited.filter(isTried).map(({ weight }) => weight)), 0.000_051),
		);
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
