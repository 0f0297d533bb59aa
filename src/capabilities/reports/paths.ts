import { compareTexts } from '../../core/domain/compare-texts.ts';
import type { Touch } from '../../core/domain/touch.ts';
import { dayMs } from '../../core/durations.ts';
import { counted, formatNumber } from '../../core/format/numbers.ts';
import { percentilesOf } from '../../kit/reports/exact-percentile.ts';
import {
	acquiredIn,
	countedJourneys,
	type Journey,
	netPence,
	ratio,
	type Terms,
	totalOf,
} from '../../kit/reports/journey.ts';
import { conversion, labelOf, labelText, none, start, touchLabelsOf } from '../../kit/reports/label.ts';
import { type FlatRow, reportThat } from '../../kit/reports/report.ts';
import { stepFlowDrawing } from '../../kit/reports/report-flow.ts';
import { pathParameters } from '../../kit/reports/report-query.ts';
import { stepFlows, stepNodes } from '../../kit/reports/step-flow.ts';
import { lostAfterDaysOf, lostNotes } from './credit.ts';
import { type PagesSeen, readPagesSeen } from './read-pages.ts';

interface PathsOptions extends Pick<Terms, 'by' | 'period' | 'basis'>, PagesSeen {
	/** The number of paths to show; those with the most subscriptions are shown. */
	readonly top: number;
}

interface RepeatedPath {
	/** Labels in order of time; equal ones that follow each other count as one. */
	readonly path: readonly string[];
	/** How many touches each of these labels stands for. */
	readonly repeats: readonly number[];
}

const maxTransitions = 500;

/** Describes the paths of subscriptions. @param journeys in the order of `subid` */
export function describePaths(journeys: readonly Journey[], options: PathsOptions) {
	const { by, period, basis, top, pages, distinctPages } = options;
	const counted = countedJourneys(journeys, period, basis);
	const labels = touchLabelsOf(counted, [], by);
	const nameOf = (touch: Touch) => labelText(labels.names[labels.numberOf(labelOf(touch, by))] as string);
	const totals = totalOf(counted);
	const rows = new Map<
		string,
		RepeatedPath & { readonly trials: number; readonly subscriptions: number; readonly netPence: number }
	>();
	/** How many subscriptions went from one label to another. */
	const transitions = new Map<string, { from: string; to: string; subscriptions: number }>();
	const lengths = new Map<number, number>();
	const acquired = counted.filter(({ amounts }) => amounts.subscriptions > 0);
	for (const { path, amounts } of counted) {
		const runs = runsOf(path.map(nameOf));
		const name = runs.map(({ label, times }) => `${label}\u001f${times}`).join('\u001e');
		const row = rows.get(name);
		rows.set(name, {
			path: runs.map(({ label }) => label),
			repeats: runs.map(({ times }) => times),
			trials: (row?.trials ?? 0) + amounts.trials,
			subscriptions: (row?.subscriptions ?? 0) + amounts.subscriptions,
			netPence: (row?.netPence ?? 0) + netPence(amounts),
		});
		if (amounts.subscriptions === 0) continue;
		lengths.set(path.length, (lengths.get(path.length) ?? 0) + 1);
		const states = [start, ...(runs.length > 0 ? runs.map(({ label }) => label) : [none]), conversion];
		for (const [place, to] of states.slice(1).entries()) {
			const from = states[place] as string;
			const begin = () => ({ from, to, subscriptions: 0 });
			transitions.getOrInsertComputed(`${from}\u001f${to}`, begin).subscriptions++;
		}
	}
	const distinct = { paths: rows.size, transitions: transitions.size, pages: distinctPages };
	const listed = { paths: top, transitions: maxTransitions, pages: pages.length };
	const cut = (['paths', 'transitions', 'pages'] as const).filter((what) => distinct[what] > listed[what]);
	return {
		totals,
		distinct,
		notes: cut.map((what) => `The ${listed[what]} most frequent of ${distinct[what]} ${what} are shown.`),
		lengths: [...lengths]
			.sort(([a], [b]) => a - b)
			.map(([touches, subscriptions]) => ({ touches, subscriptions })),
		// From the path's first touch.
		daysToConvert: percentilesOf(
			acquired.flatMap(({ path: [first], subscription }) =>
				first ? [(subscription.convertedAtMs - first.atMs) / dayMs] : [],
			),
		),
		// From showing the `tid` on a page to receiving the sale.
		approvalDays: percentilesOf(
			acquired.flatMap(({ subscription: { shownAtMs, start } }) =>
				shownAtMs !== null && start ? [(start.atMs - shownAtMs) / dayMs] : [],
			),
		),
		transitions: [...transitions.values()]
			.sort(
				(a, b) =>
					b.subscriptions - a.subscriptions ||
					compareTexts(`${a.from}\u001f${a.to}`, `${b.from}\u001f${b.to}`),
			)
			.slice(0, maxTransitions),
		pages,
		rows: [...rows.values()]
			.sort(
				(a, b) =>
					b.subscriptions - a.subscriptions ||
					b.netPence - a.netPence ||
					compareTexts(pathText(a), pathText(b)),
			)
			.slice(0, top)
			.map((row) => ({ ...row, share: ratio(row.subscriptions, totals.subscriptions) })),
	};
}

/** A path as one line, for example `email ×3 > direct`. */
export function pathText({ path, repeats }: RepeatedPath): string {
	if (path.length === 0) return none;
	return path
		.map((label, place) => ((repeats[place] ?? 1) > 1 ? `${label} ×${repeats[place]}` : label))
		.join(' > ');
}

function runsOf(labels: readonly string[]): { label: string; times: number }[] {
	const runs: { label: string; times: number }[] = [];
	for (const label of labels) {
		const last = runs.at(-1);
		if (last?.label === label) last.times++;
		else runs.push({ label, times: 1 });
	}
	return runs;
}

const maxSideRows = 20;

export const pathsReport = reportThat({
	kind: 'paths',
	title: 'Paths to subscriptions',
	summary: 'the paths to subscriptions, and how long they took',
	definition:
		'The most frequent paths, with repeats collapsed (`email ×3 > direct`). For each: the trials that started after it, the subscriptions first paid for after it, net pence, and its share of all new subscriptions.',
	parameters: [...pathParameters, 'basis', 'top', 'include'],
	columns: {
		trials: { hidesZero: true },
		share: { isShare: true },
		path: { isLong: true },
		page: { isLong: true },
	},
	async make({ query, period, journeys: readJourneys, read }) {
		const { basis, lookbackDays, by } = query;
		const { journeys, lost } = await readJourneys('arrivals');
		const acquired = acquiredIn(journeys, period);
		const pages = await read((options) => readPagesSeen(acquired, options));
		const { notes, ...paths } = describePaths(journeys, { ...query, period, ...pages });
		const made = { basis, lookbackDays, by, ...paths };
		if (by.length === 0) return { ...made, steps: [], notes };
		const { flows, notes: left } = stepFlows(acquired, lost, by);
		return {
			...made,
			steps: flows,
			notes: [...notes, ...left, ...(acquired.length > 0 ? lostNotes(lostAfterDaysOf(lost)) : [])],
		};
	},
	table: ({ rows }) =>
		rows.map(({ path, repeats, ...row }) => ({ path: pathText({ path, repeats }), ...row })),
	answer({ rows: [most], totals, daysToConvert }) {
		if (!most || totals.subscriptions === 0) return null;
		const half =
			daysToConvert.p50 === null
				? ''
				: ` Half of the subscribers subscribed within ${counted(daysToConvert.p50, 'day')} of their first touch.`;
		return `The most frequent path to a subscription is ${pathText(most)}: ${formatNumber(most.subscriptions)} of ${formatNumber(totals.subscriptions)}.${half}`;
	},
	sideTables({ lengths, daysToConvert, approvalDays, transitions, pages, distinct, steps }) {
		const nodes = stepNodes(steps);
		const days = [
			{ days: 'from the first touch to the subscription', ...daysToConvert },
			{ days: 'from the page to the upload', ...approvalDays },
		];
		const first = (rows: readonly object[]) => rows.slice(0, maxSideRows) as FlatRow[];
		const titled = (title: string, all: number) =>
			all > maxSideRows ? `${title} (${maxSideRows} of ${all})` : title;
		return [
			{ title: 'Days', rows: days },
			{ title: titled('Touches before a subscription', lengths.length), rows: first(lengths) },
			{ title: titled('Steps, with visitors who did not subscribe', nodes.length), rows: first(nodes) },
			{ title: titled('Transitions', distinct.transitions), rows: first(transitions) },
			{ title: titled('Pages before conversion', distinct.pages), rows: first(pages) },
		].filter(({ rows }) => rows.length > 0);
	},
	draw: ({ steps }) => stepFlowDrawing(steps, 'Paths step by step, with visitors who did not subscribe'),
});
