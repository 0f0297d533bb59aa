import type { Log } from '../core/store/stored-log.ts';
import { About } from './alike.ts';
import {
	type Amounts,
	type Asked,
	countedIn,
	dayMs,
	type Figures,
	isAsked,
	isIn,
	labelOf,
	labelsOf,
	names,
	ratio,
	readLog,
	spansFrom,
	sum,
	weightsOf,
} from './journeys.ts';
import type { Touch } from './model.ts';

/**
 * What reports must say of a log, added up by `docs/reference/reports.md` and without anything of `src/`. A report is a map from names
 * of figures to figures.
 */

/** The chance of converting from the start, step by step; whoever comes to `without` is lost. */
function conversionRate(paths: readonly (readonly string[])[], without?: string): number {
	const ways = new Map<string, Map<string, number>>();
	for (const path of paths)
		for (const [place, to] of path.slice(1).entries()) {
			const from = path[place] as string;
			const known = ways.get(from) ?? new Map<string, number>();
			ways.set(from, known.set(to, (known.get(to) ?? 0) + 1));
		}
	let at = new Map([['(start)', 1]]);
	let converted = 0;
	while (sum([...at.values()]) > 1e-9) {
		const next = new Map<string, number>();
		for (const [state, share] of at) {
			const known = ways.get(state) ?? new Map<string, number>();
			const all = sum([...known.values()]);
			for (const [to, times] of known) {
				const part = (share * times) / all;
				if (to === '(conversion)') converted += part;
				else if (to !== '(null)' && to !== without) next.set(to, (next.get(to) ?? 0) + part);
			}
		}
		at = next;
	}
	return converted;
}

/** The paths of visitors without a subscription who have stayed away longer than 99 of 100 subscribers, or than a path may be. */
export function lostPaths(
	{ subscriptions, touches, owners, within }: ReturnType<typeof readLog>,
	asked: Asked,
): { paths: string[][]; afterMs: number } {
	const subscribers = new Set([...owners.values()].map(({ vid }) => vid));
	const waits = subscriptions
		.filter(({ start, path }) => start && isIn(asked, start.atMs) && path.length > 0)
		.map(({ path, convertedAtMs }) => {
			const times = [...path.map(({ atMs }) => atMs), convertedAtMs];
			return Math.max(...times.slice(1).map((atMs, place) => atMs - (times[place] as number)));
		})
		.sort((a, b) => b - a);
	const longest = waits[Math.floor(waits.length / 100)] ?? Number.POSITIVE_INFINITY;
	const afterMs = Math.min(asked.lookbackDays * dayMs, Math.max(dayMs, longest));
	const paths = [...touches].flatMap(([vid, own]) => {
		const last = own.at(-1);
		if (subscribers.has(vid) || !last || last.atMs > asked.asOfMs - afterMs) return [];
		const path = within(vid, last.atMs);
		if (!isIn(asked, last.atMs) || !path.some((touch) => isAsked(touch, asked))) return [];
		return [asked.by.length === 0 ? [''] : path.map((touch) => labelOf(touch, asked))];
	});
	return { paths, afterMs };
}

/** The share of each label in the removal effects of all. */
export function markovShares(
	converted: readonly (readonly string[])[],
	lost: readonly (readonly string[])[],
): (label: string) => number {
	const all = [
		...converted.map((path) => ['(start)', ...path, '(conversion)']),
		...lost.map((path) => ['(start)', ...path, '(null)']),
	];
	const rate = conversionRate(all);
	const labels = new Set([...converted, ...lost].flat());
	const effects = new Map([...labels].map((label) => [label, 1 - conversionRate(all, label) / (rate || 1)]));
	const allEffects = sum([...effects.values()]);
	return (label) => (effects.get(label) ?? 0) / allEffects;
}

const resamples = 3000;

/**
 * Where the ends of the interval of a label's subscriptions may lie. The report's are those of 200 samples of visitors, the 6th
 * from each end. In a billion such, about one leaves 15 of 100 samples beyond an end, or is beyond all of 3,000.
 */
function markovIntervals(
	converted: readonly {
		readonly subscription: { readonly owner: string | null };
		readonly labels: string[];
	}[],
	lost: readonly string[][],
): (label: string) => [About, About] {
	const steps = (path: readonly string[], end: string) =>
		[...path, end].map((to, place) => [path[place - 1] ?? '(start)', to] as const);
	const visitors = [
		...[...Map.groupBy(converted, ({ subscription }) => subscription.owner).values()].map((own) =>
			own.flatMap(({ labels }) => steps(labels, '(conversion)')),
		),
		...lost.map((path) => steps(path, '(null)')),
	];
	const labels = [...new Set([...converted.flatMap((path) => path.labels), ...lost.flat()])];
	const states = ['(start)', ...labels];
	const shares = Array.from({ length: resamples }, () => {
		const ways = new Map(states.map((state) => [state, new Map<string, number>()]));
		for (const visitor of visitors) {
			const times = poissonOfOne();
			if (times === 0) continue;
			for (const [from, to] of visitor) {
				const known = ways.get(from) as Map<string, number>;
				known.set(to, (known.get(to) ?? 0) + times);
			}
		}
		const rate = rateBy(states, ways);
		const effects = labels.map((label) => (rate === 0 ? 0 : 1 - rateBy(states, ways, label) / rate));
		const all = sum(effects);
		return new Map(labels.map((label, place) => [label, all === 0 ? 0 : (effects[place] as number) / all]));
	});
	return (label) => {
		const sorted = shares.map((each) => (each.get(label) as number) * converted.length).sort((a, b) => a - b);
		const between = (from: number, to: number) => {
			const [first, last] = [sorted[from] as number, sorted[to] as number];
			return new About((first + last) / 2, (last - first) / 2 + 0.005_1);
		};
		return [between(0, 0.15 * resamples), between(0.85 * resamples, resamples - 1)];
	};
}

/** How often one of many is drawn, with as many draws. */
function poissonOfOne(): number {
	let [times, left] = [0, Math.random()];
	for (let chance = Math.exp(-1); left > chance; chance /= times) {
		left -= chance;
		times++;
	}
	return times;
}

/** The chance of converting from the start, of the equations for each state; whoever comes to `without` is lost. */
function rateBy(
	states: readonly string[],
	ways: ReadonlyMap<string, ReadonlyMap<string, number>>,
	without?: string,
): number {
	const rows = states.map((from, row) => {
		const known = ways.get(from) as ReadonlyMap<string, number>;
		const all = sum([...known.values()]) || 1;
		const share = (to: string) => (from === without || to === without ? 0 : (known.get(to) ?? 0) / all);
		return [...states.map((to, column) => Number(row === column) - share(to)), share('(conversion)')];
	});
	// The last state first, so that the start is what remains.
	for (let pivot = states.length - 1; pivot > 0; pivot--) {
		const by = rows[pivot] as number[];
		for (const row of rows.slice(0, pivot)) {
			const factor = (row[pivot] as number) / (by[pivot] as number);
			for (let column = 0; column < row.length; column++)
				(row[column] as number) -= factor * (by[column] as number);
		}
	}
	const [start] = rows as [number[]];
	return (start.at(-1) as number) / (start[0] as number);
}

/** The arrivals in the period of each visitor who has one that is asked about. */
function arrivedIn({ touches }: Pick<ReturnType<typeof readLog>, 'touches'>, asked: Asked) {
	return [...touches.values()]
		.map((own) => own.filter(({ atMs }) => isIn(asked, atMs)))
		.filter((own) => own.some((touch) => isAsked(touch, asked)));
}

export function attribution(log: Log, asked: Asked): Figures {
	const read = readLog(log, asked);
	const counted = countedIn(read.subscriptions, asked).filter(({ events }) => events.length > 0);
	const totals = Object.fromEntries(
		names.map((name) => [name, sum(counted.map(({ amounts }) => amounts[name]))]),
	) as Amounts;
	const figures: Figures = new Map<string, unknown>(names.map((name) => [`total ${name}`, totals[name]]));
	figures.set('total netPence', sum(names.slice(2).map((name) => totals[name])));
	const paths = counted.map(({ subscription, amounts }) => ({
		subscription,
		amounts,
		labels: labelsOf(subscription, asked),
	}));
	const { paths: lost, afterMs } = lostPaths(read, asked);
	const came = arrivedIn(read, asked).map((own) =>
		own.map((touch) => (asked.by.length === 0 ? '' : labelOf(touch, asked))),
	);
	const labels = new Set([
		...came.flat(),
		...(asked.by.length === 0 ? [''] : []),
		...paths.flatMap((path) => path.labels),
		...lost.flat(),
	]);
	const known = paths.filter((path) => path.labels.length > 0);
	const acquired = known.filter(({ amounts }) => amounts.subscriptions > 0);
	const shown = asked.models.filter(
		(model) => model !== 'markov' || (acquired.length > 0 && lost.length > 0),
	);
	const share = markovShares(
		acquired.map((path) => path.labels),
		lost,
	);
	figures.set('total arrivals', came.flat().length);
	figures.set('total visitors', came.filter((own) => own.length > 0).length);
	if (asked.models.includes('markov')) {
		figures.set('converted paths', acquired.length);
		figures.set('lost paths', lost.length);
		figures.set('lost after', new About(afterMs / dayMs, 0.051));
	}
	if (asked.every !== null) addSeries(figures, read, asked);
	const hasIntervals = asked.intervals && shown.includes('markov');
	const within = hasIntervals ? markovIntervals(acquired, lost) : () => [null, null];
	const hasNone = known.length < paths.length;
	for (const label of hasNone ? [...labels, '(none)'] : labels) {
		const creditOf = (model: string, name: (typeof names)[number]) => {
			if (label === '(none)')
				return sum(paths.filter((path) => path.labels.length === 0).map(({ amounts }) => amounts[name]));
			if (model === 'markov') {
				if (name !== 'refundPence') return share(label) * sum(known.map(({ amounts }) => amounts[name]));
				const refunded = known.filter((path) => path.labels.includes(label));
				return sum(
					refunded.map((path) => {
						const own = [...new Set(path.labels)];
						const total = sum(own.map(share));
						return path.amounts[name] * (total > 1e-12 ? share(label) / total : 1 / own.length);
					}),
				);
			}
			return sum(
				known.map((path) => {
					const weights = asked.by.length === 0 ? [1] : weightsOf(model, path.subscription, asked);
					const own = weights.filter((_, place) => path.labels[place] === label);
					return sum(own) * path.amounts[name];
				}),
			);
		};
		for (const model of shown)
			for (const name of names) {
				// Rounded by largest remainder, to pence or to ten-thousandths.
				const tolerance = name.endsWith('Pence') ? 1 : 0.000_1;
				figures.set(`${label}: ${model} ${name}`, new About(creditOf(model, name), tolerance));
			}
		if (hasIntervals) {
			const isFrequent = acquired.filter((path) => path.labels.includes(label)).length >= 5;
			const [low, high] = isFrequent ? within(label) : [null, null];
			figures.set(`${label}: low`, low);
			figures.set(`${label}: high`, high);
		}
		const arrivals = came.flat().filter((one) => one === label).length;
		const visitors = came.filter((own) => own.includes(label)).length;
		figures.set(`${label}: arrivals`, label === '(none)' ? null : arrivals);
		figures.set(`${label}: visitors`, label === '(none)' ? null : visitors);
		for (const model of shown) {
			const credit = creditOf(model, 'subscriptions');
			const net = sum(names.slice(2).map((name) => creditOf(model, name)));
			const isKnown = label !== '(none)' && visitors > 0;
			const all = totals.subscriptions;
			const share = new About(credit / all, 0.000_051 + 0.0001 / all);
			figures.set(`${label}: ${model} share`, all === 0 ? null : share);
			figures.set(`${label}: ${model} net`, new About(net, 3));
			figures.set(
				`${label}: ${model} rate`,
				isKnown ? new About(credit / visitors, 0.000_051 + 0.0001 / visitors) : null,
			);
			figures.set(
				`${label}: ${model} each`,
				isKnown ? new About(net / visitors, 0.0051 + 3 / visitors) : null,
			);
		}
		const ending = (path: (typeof paths)[number]) => (path.labels.at(-1) ?? '(none)') === label;
		const subscriptionsOf = (some: typeof paths) => sum(some.map(({ amounts }) => amounts.subscriptions));
		const assisted = paths.filter((path) => !ending(path) && path.labels.includes(label));
		figures.set(`${label}: assist`, ratio(subscriptionsOf(assisted), subscriptionsOf(paths.filter(ending))));
	}
	return figures;
}

/** What one model credits in each day, week or month, and who came then. */
function addSeries(
	figures: Figures,
	{ subscriptions, touches }: ReturnType<typeof readLog>,
	asked: Asked,
): void {
	const model = asked.models.find((each) => each !== 'markov') ?? 'last-non-direct';
	const chosen = countedIn(subscriptions, asked).map(({ subscription }) => subscription);
	const came = arrivedIn({ touches }, asked);
	const times = [
		...chosen.flatMap(({ events }) => events.map(({ atMs }) => atMs)),
		...came.flat().map(({ atMs }) => atMs),
	];
	const every = asked.every as 'day' | 'week' | 'month';
	const labelled = (touch: Touch) => (asked.by.length === 0 ? '' : labelOf(touch, asked));
	for (const { name, fromMs, toMs } of spansFrom(Math.min(...times), every, asked)) {
		const own = countedIn(subscriptions, { ...asked, fromMs, toMs }).filter(
			({ events }) => events.length > 0,
		);
		const here = came.map((some) => some.filter(({ atMs }) => atMs >= fromMs && atMs < toMs).map(labelled));
		const labels = own.map(({ subscription }) => labelsOf(subscription, asked));
		for (const label of new Set([...here.flat(), ...labels.flat(), '(none)'])) {
			let [credited, pence] = [0, 0];
			for (const [place, { subscription, amounts }] of own.entries()) {
				const path = labels[place] as string[];
				const weights = asked.by.length === 0 ? [1] : weightsOf(model, subscription, asked);
				const weight =
					path.length === 0
						? Number(label === '(none)')
						: sum(weights.filter((_, touch) => path[touch] === label));
				credited += weight * amounts.subscriptions;
				pence += weight * (amounts.acquisitionPence + amounts.renewalPence + amounts.refundPence);
			}
			const arrivals = here.flat().filter((each) => each === label).length;
			if (arrivals === 0 && credited < 0.000_05 && Math.abs(pence) < 0.499) continue;
			const visitors = here.filter((each) => each.includes(label)).length;
			const isNone = label === '(none)';
			figures.set(`${name} ${label}: arrivals`, isNone ? null : arrivals);
			figures.set(`${name} ${label}: visitors`, isNone ? null : visitors);
			figures.set(`${name} ${label}: subscriptions`, new About(credited, 0.000_051));
			figures.set(`${name} ${label}: pence`, new About(pence, 0.501));
			figures.set(`${name} ${label}: rate`, isNone ? null : ratio(credited, visitors));
		}
	}
}

export function paths(log: Log, asked: Asked): Figures {
	const read = readLog(log, asked);
	const counted = countedIn(read.subscriptions, asked).filter(({ events }) => events.length > 0);
	const figures: Figures = new Map();
	const add = (name: string, number: number) =>
		figures.set(name, ((figures.get(name) as number) ?? 0) + number);
	for (const name of names) add(`total ${name}`, sum(counted.map(({ amounts }) => amounts[name])));
	const penceOf = ({ acquisitionPence, renewalPence, refundPence }: Amounts) =>
		acquisitionPence + renewalPence + refundPence;
	add('total netPence', sum(counted.map(({ amounts }) => penceOf(amounts))));
	const found = new Map<string, number>();
	const acquired = counted.filter(({ amounts }) => amounts.subscriptions > 0);
	for (const { subscription, amounts } of counted) {
		const labels = subscription.path.map((touch) => labelOf(touch, asked));
		const runs = labels.filter((label, place) => label !== labels[place - 1]);
		let place = 0;
		const repeats = runs.map((label) => {
			const start = place;
			while (labels[place] === label) place++;
			return `${label} ×${place - start}`;
		});
		const name = repeats.join(' > ');
		add(`path ${name}: trials`, amounts.trials);
		add(`path ${name}: subscriptions`, amounts.subscriptions);
		add(`path ${name}: pence`, penceOf(amounts));
		found.set(name, (found.get(name) ?? 0) + amounts.subscriptions);
		if (amounts.subscriptions === 0) continue;
		add(`length ${labels.length}`, 1);
		const states = ['(start)', ...(runs.length > 0 ? runs : ['(none)']), '(conversion)'];
		for (const [step, to] of states.slice(1).entries()) add(`${states[step]} to ${to}`, 1);
	}
	for (const [name, number] of found) figures.set(`path ${name}: share`, ratio(number, acquired.length));
	figures.set('paths', found.size);
	figures.set(
		'transitions',
		figures
			.keys()
			.filter((name) => name.includes(' to '))
			.toArray().length,
	);
	if (asked.by.length > 0) addSteps(figures, read, asked);
	const days = acquired.flatMap(({ subscription: { path, convertedAtMs } }) =>
		path[0] ? [(convertedAtMs - path[0].atMs) / dayMs] : [],
	);
	const approval = acquired.flatMap(({ subscription: { shownAtMs, first } }) =>
		shownAtMs === null ? [] : [(first.atMs - shownAtMs) / dayMs],
	);
	for (const percent of [50, 75, 90]) {
		figures.set(`days p${percent}`, nearestRank(days, percent));
		figures.set(`approval p${percent}`, nearestRank(approval, percent));
	}
	const pages = new Map<string, number>();
	for (const { subscription } of countedIn(read.subscriptions, asked)) {
		if (!subscription.acquisition || !isIn(asked, subscription.acquisition.atMs)) continue;
		const { owner, convertedAtMs } = subscription;
		const seen = read.log.hits.filter(
			({ vid, atMs }) =>
				vid === owner && atMs <= convertedAtMs && atMs > convertedAtMs - asked.lookbackDays * dayMs,
		);
		for (const page of new Set(seen.map(({ body }) => body.page)))
			if (page !== null) pages.set(page, (pages.get(page) ?? 0) + 1);
	}
	figures.set('pages', pages.size);
	// The report lists a hundred.
	if (pages.size <= 100)
		for (const [page, subscriptions] of pages) figures.set(`page ${page}`, subscriptions);
	return figures;
}

/** The flow of the first five steps, of subscriptions and of lost paths. */
function addSteps(figures: Figures, read: ReturnType<typeof readLog>, asked: Asked): void {
	const withoutRepeats = (path: readonly string[]) =>
		path.filter((label, place) => label !== path[place - 1]);
	const subscribed = countedIn(read.subscriptions, asked)
		.filter(({ subscription: { acquisition } }) => acquisition && isIn(asked, acquisition.atMs))
		.map(({ subscription }) => subscription.path.map((touch) => labelOf(touch, asked)))
		.map((path) => ({ path: path.length > 0 ? withoutRepeats(path) : ['(none)'], end: '(conversion)' }));
	const lost = lostPaths(read, asked).paths.map((path) => ({ path: withoutRepeats(path), end: '(lost)' }));
	const all = [...subscribed, ...lost];
	const kept = [0, 1, 2, 3, 4].map((place) => {
		const counts = new Map<string, number>();
		for (const { path } of all)
			if (path[place] !== undefined) counts.set(path[place], (counts.get(path[place]) ?? 0) + 1);
		const sorted = [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1)).map(([label]) => label);
		return sorted.slice(0, sorted.length > 12 ? 11 : 12);
	});
	const named = (label: string | undefined, place: number) =>
		label !== undefined && kept[place]?.includes(label) ? label : '(other)';
	for (const { path, end } of all)
		for (let place = 0; place < Math.min(5, path.length); place++) {
			const to =
				place + 1 === path.length ? end : place === 4 ? '(more steps)' : named(path[place + 1], place + 1);
			const name = `step ${place + 1} ${named(path[place], place)} to ${to}`;
			for (const which of ['(conversion)', '(lost)'] as const) {
				const figure = `${name}: ${which}`;
				figures.set(figure, Number(figures.get(figure) ?? 0) + Number(which === end));
			}
		}
}

function nearestRank(values: readonly number[], percent: number): About | null {
	const sorted = values.toSorted((a, b) => a - b);
	const value = sorted[Math.ceil((percent / 100) * sorted.length) - 1];
	return value === undefined ? null : new About(value, 0.005_1);
}
