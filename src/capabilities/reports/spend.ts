import { Cadences } from '../../core/domain/subscription-cadence.ts';
import { paymentsOf } from '../../core/domain/subscription-course.ts';
import { OperatorError } from '../../core/errors.ts';
import { counted, formatNumber } from '../../core/format/numbers.ts';
import { learnedCadences } from '../../kit/reading/payments.ts';
import { type Spending, spendingRows } from '../../kit/reading/spending.ts';
import { type AttributionModel, creditedTo, defaultModel } from '../../kit/reports/attribution-model.ts';
import { type Calendar, monthsBetween } from '../../kit/reports/calendar.ts';
import { requireExactSums } from '../../kit/reports/exact-sums.ts';
import {
	amountsOf,
	isIn,
	type Journey,
	noAmounts,
	ratio,
	rounded,
	startedAtMs,
	startedIn,
	type Terms,
} from '../../kit/reports/journey.ts';
import {
	type Dimensions,
	dimensionsOf,
	isOfTouches,
	labelOf,
	maxLabels,
	notSet,
	other,
	touchLabelsOf,
} from '../../kit/reports/label.ts';
import type { LostPaths } from '../../kit/reports/lost-paths.ts';
import { type FlatRow, headed, reportThat } from '../../kit/reports/report.ts';
import { curves } from '../../kit/reports/report-curves.ts';
import { pathParameters } from '../../kit/reports/report-query.ts';
import { bars } from '../../kit/reports/report-rows.ts';
import { numbered } from '../../kit/reports/report-table.ts';
import { byCount, sumOf } from '../../kit/reports/sums.ts';
import { trialPayments } from '../../kit/reports/tried-course.ts';
import { creditedPath, creditOf, markovBasis, markovSays, netCreditAt } from './credit.ts';
import { unknown } from './unknown-names.ts';

export interface SpendOptions extends Pick<Terms, 'by' | 'halfLifeDays' | 'period' | 'calendar'> {
	readonly model: AttributionModel;
	/** Tells trials from subscriptions. */
	readonly cadences: Cadences;
}

/** The cost of subscriptions where spending is known. @param journeys in the order of `subid` */
export function describeSpending(
	spending: readonly Spending[],
	journeys: readonly Journey[],
	lost: LostPaths,
	{ by, model, halfLifeDays, period, calendar, cadences }: SpendOptions,
) {
	const spent = new Map<string, number>();
	for (const { day, channel, campaign, pence } of spending) {
		if (!isIn(period, calendar.startOfDay(day))) continue;
		const label = labelOf(
			{ channel, campaign: campaign.toLowerCase() || null, source: null, medium: null, landing: null },
			by,
		);
		spent.set(label, (spent.get(label) ?? 0) + pence);
	}
	const acquired = startedIn(journeys, period);
	const byPence = byCount(spent).map(([name]) => name);
	// The time of the model markov grows with the cube of the number of names.
	const isCut = model === 'markov' && byPence.length > maxLabels;
	const labels = touchLabelsOf(acquired, [lost], by, isCut ? byPence.slice(0, maxLabels - 1) : byPence);
	const numberOf = (label: string) => labels.numberOf(label);
	const lostLabels = lost.labelled(numberOf);
	const paths = acquired.map((journey) => ({
		subscription: journey.subscription,
		...startOf(journey, cadences),
		...creditedPath(journey, { ...noAmounts, subscriptions: 1 }, { labels, by }),
	}));
	const isMarkov = model === 'markov';
	const { isShown, warnings, notes } = markovSays(isMarkov ? markovBasis(paths, lost) : undefined);
	if (isMarkov && !isShown) return { rows: [], warnings };
	const ages = agesOf(acquired, calendar);
	// Up to the end of each month since the acquisition.
	const byAge = Array.from({ length: ages }, (_, age) =>
		creditOf(
			model,
			paths.map((path) => ({
				...path,
				amounts: amountsOf(
					path.subscription.steps.filter((step) => ageOf(path.subscription, step.atMs, calendar) <= age),
				),
			})),
			lostLabels,
			{ labels: labels.names.length, halfLifeDays },
		),
	);
	const creditedTo = (of: (path: (typeof paths)[number]) => boolean) =>
		creditOf(
			model,
			paths.map((path) => ({ ...path, amounts: { ...noAmounts, subscriptions: of(path) ? 1 : 0 } })),
			lostLabels,
			{ labels: labels.names.length, halfLifeDays },
		).subscriptions;
	const paying = creditedTo(({ isPaid }) => isPaid);
	const tried = creditedTo(({ isTried }) => isTried);
	const netAt = (age: number, label: number) => {
		const credit = byAge[age];
		return credit ? netCreditAt(credit, label) : 0;
	};
	// One row for each number, because several names may share that of `(other)`.
	const rows = [...Map.groupBy(byPence, numberOf)]
		.map(([label, names]) => {
			const spentPence = names.reduce((sum, name) => sum + (spent.get(name) as number), 0);
			const credited = paying[label] as number;
			const subscriptions = rounded(credited, 4);
			const netPence = Math.round(netAt(ages - 1, label));
			const payback = byAge.findIndex((_, age) => netAt(age, label) >= spentPence);
			return {
				...dimensionsOf(labels.names[label] as string, by),
				spentPence,
				trials: rounded(tried[label] as number, 4),
				subscriptions,
				netPence,
				costPerSubscriptionPence: subscriptions === 0 ? null : ratio(spentPence, credited, 2),
				returnRatio: ratio(netPence, spentPence),
				// In calendar months since the acquisition, from 0, as in `recovered`; null if it is not recovered.
				paybackMonth: payback < 0 ? null : payback,
				recovered: byAge.map((_, age) => ratio(netAt(age, label), spentPence)),
			};
		})
		.sort((a, b) => b.spentPence - a.spentPence);
	const cut = `The Markov model keeps the ${maxLabels - 1} names on which most was spent apart; (other) has the rest, and what nothing was spent on.`;
	return { rows, warnings, notes: [...notes, ...(isCut ? [cut] : [])] };
}

/** Whether it has been paid by now, and whether it began with a trial. */
function startOf({ subscription }: Journey, cadences: Cadences) {
	const payments = paymentsOf(subscription);
	const ofTrial = trialPayments({ evt: subscription.evt, payments }, cadences);
	return { isPaid: ofTrial < payments.length, isTried: ofTrial > 0 };
}

function ageOf(subscription: Journey['subscription'], ms: number, calendar: Calendar): number {
	return Math.max(0, monthsBetween(calendar.monthOf(startedAtMs(subscription)), calendar.monthOf(ms)));
}

function agesOf(journeys: readonly Journey[], calendar: Calendar): number {
	let max = 0;
	for (const { subscription } of journeys)
		for (const { atMs } of subscription.steps) max = Math.max(max, 1 + ageOf(subscription, atMs, calendar));
	return max;
}

export const spendReport = reportThat({
	kind: 'spend',
	title: 'Spend',
	summary: 'what subscriptions have cost',
	definition:
		'What was spent in the period, and what began in it: `trials`, `subscriptions` that have paid by now, and `netPence`, all that both have brought since. The chosen model divides these among the rows.',
	parameters: [...pathParameters, 'model', 'halfLifeDays', 'include'],
	check({ by, model }) {
		const isSpent = by?.includes('channel') && by.every((name) => name === 'channel' || name === 'campaign');
		if (by && by.length > 0 && !isSpent)
			throw new OperatorError(
				'Group spend by channel or channel,campaign, as spending is recorded, or use none for one row.',
			);
		if (model && model.length > 1)
			throw new OperatorError('spend credits subscriptions by one model; name one.');
	},
	async make({ account, query, period, calendar, asOfMs, journeys: readJourneys, read }) {
		const { lookbackDays, by, halfLifeDays } = query;
		const [model = defaultModel] = query.model;
		const { journeys, lost, arrivals } = await readJourneys('arrivals');
		const spending = await read(spendingRows);
		const cadences = new Cadences(await read(() => learnedCadences(asOfMs, account.cancellationEvt)), {});
		const options = { by, model, halfLifeDays, period, calendar, cadences };
		requireExactSums(spending.map(({ pence }) => pence));
		const made = describeSpending(spending, journeys, lost, options);
		const cameBy = [...arrivals.counts().keys()].map((label) => dimensionsOf(label, by));
		const unseen = by.filter(isOfTouches).flatMap((dimension) => {
			const namesIn = (rows: readonly Dimensions[]) =>
				new Set(
					rows.flatMap((row) => row[dimension] ?? []).filter((name) => name !== notSet && name !== other),
				);
			const known = namesIn(cameBy);
			return [...namesIn(made.rows)].flatMap((name) => unknown(dimension, name, known));
		});
		return { lookbackDays, model, by, ...made, warnings: [...unseen, ...made.warnings] };
	},
	columns: {
		subscriptions: { heading: 'new subscriptions' },
		costPerSubscriptionPence: { heading: 'cost per new subscription' },
		recovered: { isShare: true, heading: 'month' },
		...headed({ returnRatio: 'net ÷ cost', paybackMonth: 'months to payback' }),
	},
	answer({ rows, model }, money) {
		const [spent, net] = [sumOf(rows, (row) => row.spentPence), sumOf(rows, (row) => row.netPence)];
		const subscriptions = sumOf(rows, (row) => row.subscriptions);
		if (spent === 0) return null;
		const each = subscriptions > 0 ? ` (cost: ${money(Math.round(spent / subscriptions))} each)` : '';
		return `${money(spent)} was spent. Crediting ${creditedTo[model]}, it brought ${counted(subscriptions, 'new subscription')}${each}, which have paid ${money(net)} so far, ${formatNumber(net / spent)} times the cost. That does not prove that the spending caused them.`;
	},
	table: ({ rows }) => rows.map(({ recovered: _, ...row }) => row as FlatRow),
	sideTables: ({ rows }) => [
		{
			title: 'Share of the spending recovered by the end of each month since the acquisition',
			rows: rows.map(({ recovered, ...row }) => ({
				...namesOf(row as FlatRow),
				spentPence: row.spentPence,
				...numbered('recovered', recovered),
			})),
		},
	],
	draw: ({ rows }, table, money) => [
		bars(table, 'netPence', { title: 'Net revenue', money }),
		curves(
			rows.map(({ recovered, ...row }) => ({
				name: Object.values(namesOf(row as FlatRow)).join(' / ') || 'all',
				points: recovered.map((y, age) => ({ x: String(age), y })),
			})),
			{
				title: 'Share of the spending that was recovered',
				isShare: true,
				across: 'months since the acquisition',
			},
		),
	],
});

/** The values of a row's dimensions. */
function namesOf(row: FlatRow): FlatRow {
	return Object.fromEntries(Object.entries(row).filter(([, value]) => typeof value === 'string'));
}
