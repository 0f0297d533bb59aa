import { compareTexts } from '../../../core/domain/compare-texts.ts';
import { type ExperimentGroup, experimentGroups } from '../../../core/domain/experiment-group.ts';
import { dayMs } from '../../../core/durations.ts';
import { OperatorError } from '../../../core/errors.ts';
import { moneyOf } from '../../../core/format/money.ts';
import { counted, formatNumber, formatPercent, formatShare } from '../../../core/format/numbers.ts';
import { historyExtent } from '../../../kit/reading/histories.ts';
import { signed } from '../../../kit/reports/answer-text.ts';
import { addDays, type Calendar } from '../../../kit/reports/calendar.ts';
import { valueAt } from '../../../kit/reports/exact-percentile.ts';
import {
	type Amounts,
	allTime,
	amountsOf,
	type Journey,
	netPence,
	ratio,
	rounded,
	totalOf,
} from '../../../kit/reports/journey.ts';
import { none } from '../../../kit/reports/label.ts';
import { readSubscriptions } from '../../../kit/reports/read-journeys.ts';
import { reportThat, type SideTable, styled } from '../../../kit/reports/report.ts';
import { dots } from '../../../kit/reports/report-rows.ts';
import { goalsAsked } from '../../training/reports/promises.ts';
import { drawOf } from '../domain/draw.ts';
import { type Experiment, endOf } from '../store/experiment.ts';
import { type Entrant, type Entrants, entrantsIn } from './experiment-entries.ts';
import { type Difference, differenceOf, GroupSums, isMismatched } from './lift-estimate.ts';

/** The treated less the held-out. Nulls where there are too few visitors for an interval. */
type Lift = { readonly [Name in keyof Difference]: number | null };

export type GroupFigures = ReturnType<typeof figuresOf>;

/** An entrant with what the visitor has brought. */
interface Unit extends Entrant {
	readonly group: ExperimentGroup;
	readonly amounts: Amounts;
	readonly netPence: number;
}

/** What is compared of a visitor. */
type Outcome = (unit: Unit) => number;

const isConverted: Outcome = (unit) => Number(unit.isConverted);
const paid: Outcome = (unit) => unit.netPence;
/** Amounts above this percentile count as much as it. */
const winsorisedShare = 0.999;
/** Less than this share of the treated, and the page does not seem to ask. */
const leastRead = 0.5;
/** If those who are left out are this share of all who reached the goal, or more, the others may show another lift. */
const leftOutTooMany = 0.1;

/** Adds what the subscriptions of each entrant's visitors brought after the entry. */
function unitsOf(
	entrants: readonly Entrant[],
	journeys: readonly Journey[],
	experiment: Experiment,
): readonly Unit[] {
	const ofOwner = Map.groupBy(journeys, ({ subscription: { owner } }) => owner);
	return entrants.map((entrant) => {
		const steps = entrant.vids.flatMap((vid) =>
			(ofOwner.get(vid) ?? []).flatMap(({ subscription }) =>
				subscription.steps.filter(({ atMs }) => atMs > entrant.atMs),
			),
		);
		const amounts = amountsOf(steps);
		const { group } = drawOf(experiment, entrant.person);
		return { ...entrant, group, amounts, netPence: netPence(amounts) };
	});
}

/**
 * What the visitors of a group whose horizon is over have brought since they entered; those of the others are `waiting`.
 * @param reads how often somebody asked their segments; undefined of a past moment
 * @param left mail gateways, who may have asked as well
 */
function figuresOf(
	units: readonly Unit[],
	group: ExperimentGroup,
	reads: number | undefined,
	left: readonly Unit[],
) {
	const own = units.filter((unit) => unit.group === group);
	const mayHaveRead = own.length + left.filter((unit) => unit.group === group).length;
	const known = own.filter((unit) => unit.isConverted !== undefined);
	const { acquisitionPence, renewalPence, refundPence, netPence } = totalOf(known);
	const conversions = known.filter((unit) => unit.isConverted).length;
	return {
		visitors: known.length,
		waiting: own.length - known.length,
		conversions,
		conversionRate: ratio(conversions, known.length, 6),
		acquisitionPence,
		renewalPence,
		refundPence,
		netPence,
		netPerVisitorPence: ratio(netPence, known.length, 2),
		read: reads === undefined || own.length === 0 ? null : Math.min(1, rounded(reads / mayHaveRead, 2)),
	};
}

function sumsOf(units: readonly Unit[], group: ExperimentGroup, outcome: Outcome): GroupSums {
	const sums = new GroupSums();
	for (const unit of units) if (unit.group === group) sums.add(outcome(unit), unit.score);
	return sums;
}

function liftOf(units: readonly Unit[], outcome: Outcome, holdoutShare: number, digits: number): Lift {
	const [treated, holdout] = experimentGroups.map((group) => sumsOf(units, group, outcome)) as [
		GroupSums,
		GroupSums,
	];
	const found = differenceOf(treated, holdout, holdoutShare);
	if (found)
		return Object.fromEntries(
			Object.entries(found).map(([name, value]) => [
				name,
				rounded(value, name === 'varianceReduction' ? 4 : digits),
			]),
		) as unknown as Lift;
	const both = Math.min(treated.count, holdout.count) > 0;
	const unadjusted = both ? rounded(treated.mean - holdout.mean, digits) : null;
	return {
		difference: unadjusted,
		unadjusted,
		low: null,
		high: null,
		anytimeLow: null,
		anytimeHigh: null,
		varianceReduction: null,
	};
}

/** @param value the channel, or the device, at the entry */
function rowOf(
	part: 'all' | 'channel' | 'device',
	value: string,
	units: readonly Unit[],
	holdoutShare: number,
) {
	const of = (group: ExperimentGroup) => units.filter((unit) => unit.group === group);
	const [treated, holdout] = [of('treated'), of('holdout')];
	const rateOf = (some: readonly Unit[]) => ratio(some.filter(isConverted).length, some.length, 6);
	const rate = liftOf(units, isConverted, holdoutShare, 6);
	const net = liftOf(units, paid, holdoutShare, 2);
	return {
		part,
		value,
		treatedVisitors: treated.length,
		holdoutVisitors: holdout.length,
		treatedRate: rateOf(treated),
		holdoutRate: rateOf(holdout),
		rateDifference: rate.difference,
		rateLow: rate.low,
		rateHigh: rate.high,
		netDifferencePence: net.difference,
		netLowPence: net.low,
		netHighPence: net.high,
	};
}

/** By channel and by device at the entry, those with the most visitors first. */
function explored(units: readonly Unit[], holdoutShare: number) {
	return (['channel', 'device'] as const).flatMap((part) =>
		[...Map.groupBy(units, (unit) => unit[part] || none)]
			.sort(([a, some], [b, others]) => others.length - some.length || compareTexts(a, b))
			.map(([value, own]) => rowOf(part, value, own, holdoutShare)),
	);
}

interface LiftFindings extends Pick<Entrants, 'leftOut' | 'leftOutConversions' | 'scoredBy' | 'readsScores'> {
	readonly experiment: Experiment;
	readonly groups: Readonly<Record<ExperimentGroup, GroupFigures>>;
	readonly lift: { readonly conversionRate: Lift };
	/** The day of the first hit, where that is later than the begin of the experiment. */
	readonly logBegins: string | null;
	/** Of winsorised amounts, as it is shown. */
	readonly cap: string;
	readonly asOfMs: number;
	/** How many entered as mail gateways do. */
	readonly gateways: number;
}

const enteredOf = ({ visitors, waiting }: GroupFigures) => visitors + waiting;

/** Whether the groups are not as they were drawn. */
function isBroken({ treated, holdout }: LiftFindings['groups'], holdoutPercent: number): boolean {
	return isMismatched(enteredOf(treated), enteredOf(holdout), holdoutPercent / 100);
}

/** What makes the figures doubtful, the worst first. */
function warningsOf({
	experiment,
	groups,
	leftOut,
	leftOutConversions,
	readsScores,
	logBegins,
}: LiftFindings): string[] {
	const { treated, holdout } = groups;
	const warnings: string[] = [];
	const [ofTreated, ofHoldout] = [enteredOf(treated), enteredOf(holdout)];
	if (isBroken(groups, experiment.holdoutPercent))
		warnings.push(
			`Do not trust this. ${formatNumber(ofHoldout)} of ${counted(ofTreated + ofHoldout, 'visitor')} are held out, ${formatShare(ofHoldout / (ofTreated + ofHoldout))} instead of ${experiment.holdoutPercent} %: by chance alone that comes in one of 1,000 experiments at a single look, and in about one of 60 that are looked at daily for 120 days. Something loses visitors of one group; find it first.`,
		);
	else if (logBegins !== null)
		warnings.push(
			`The log of hits begins on ${logBegins}, after the experiment. If earlier hits were deleted, visitors who entered before are missing, and keep hits for longer.`,
		);
	const conversions = treated.conversions + holdout.conversions + leftOutConversions;
	if (leftOutConversions > 0 && leftOutConversions >= leftOutTooMany * conversions)
		warnings.push(
			`${formatNumber(leftOutConversions)} of the ${formatNumber(conversions)} who reached the goal are left out: ${leftOut === 1 ? 'a customer' : `they are among ${counted(leftOut, 'customer')}`} who entered as several visitors and showed their id only later. The lift of the others may be smaller or larger than that of all. Show the customer id before the experiment, for example at each log-in.`,
		);
	if (treated.read !== null && treated.read < leastRead)
		warnings.push(
			`Pages asked for the segments of only ${formatShare(treated.read)} of the treated: the others were treated like the held-out, and the true lift of being treated is larger.`,
		);
	if (readsScores)
		warnings.push(
			"The rule of the segment reads scores. When each visitor entered is decided by today's models, not by those in use then.",
		);
	return warnings;
}

/** What is left out, and what the figures mean. */
function notesOf({ experiment, leftOut, gateways, scoredBy, lift, cap, asOfMs }: LiftFindings): string[] {
	const notes: string[] = [];
	const { anytimeLow, anytimeHigh, varianceReduction } = lift.conversionRate;
	if (anytimeLow === null || anytimeHigh === null || varianceReduction === null)
		notes.push('There are too few visitors for an interval: each group needs 100 whose horizon is over.');
	else {
		notes.push(
			anytimeLow > 0
				? 'The treated reach the goal more often: the interval that holds whenever you look is above 0.'
				: anytimeHigh < 0
					? 'The treated reach the goal less often: the interval that holds whenever you look is below 0.'
					: `The interval that holds whenever you look includes 0: no effect on the goal is shown${endOf(experiment) <= asOfMs ? '' : ' yet'}. The other interval is for a single look, at a time chosen beforehand.`,
		);
		const weeks = (Math.min(endOf(experiment), asOfMs) - experiment.fromMs) / (7 * dayMs);
		const saved = (weeks * varianceReduction) / (1 - varianceReduction);
		notes.push(
			scoredBy === null
				? 'No model is older than the experiment, so scores at entry cannot make the intervals shorter.'
				: `The score at entry, by model ${scoredBy}, explains ${formatShare(varianceReduction)} of the variance. Without it, equally short intervals would take ${counted(rounded(saved, 1), 'week')} more.`,
		);
		notes.push(`Winsorised: amounts above ${cap}, the 99.9th percentile of both groups, count as ${cap}.`);
	}
	if (leftOut > 0)
		notes.push(
			`Left out: ${counted(leftOut, 'customer')} who entered as several visitors, since they showed their id only after the experiment had begun.`,
		);
	if (gateways > 0)
		notes.push(
			'Whoever entered in the same moments as mail gateways is left out with them, in both groups: whether they go on may be what the experiment changes.',
		);
	return notes;
}

function chosenExperiment(experiments: readonly Experiment[], name: string | null): Experiment | undefined {
	const chosen = name === null ? experiments.at(-1) : experiments.find((one) => one.name === name);
	if (!chosen && name !== null)
		throw new OperatorError(
			experiments.length === 0
				? `There is no experiment ${name}; the account has none.`
				: `There is no experiment ${name}; the account has ${experiments.map((one) => one.name).join(', ')}.`,
		);
	return chosen;
}

/** The days in which visitors enter. */
function daysOf({ fromMs, ...ends }: Experiment, calendar: Calendar) {
	const endMs = endOf(ends);
	return {
		from: calendar.dayOf(fromMs),
		to: Number.isFinite(endMs) ? addDays(calendar.dayOf(endMs - 1), 1) : null,
	};
}

export const liftReport = reportThat({
	kind: 'lift',
	title: 'Lift',
	summary: 'what serving a segment earned in an experiment, and how sure that is',
	definition:
		"A visitor enters an experiment by matching the segment's rule for the first time, whether or not a page asks. For each group: how many entered, how many of these reached the goal within its horizon, and what they have paid since. `lift` is treated minus held out: in conversion rate, and in net pence per visitor, plain and with the largest thousandth capped (`winsorised`). `low` and `high` are the ordinary 95 % interval, for one look that was planned ahead; `anytimeLow` and `anytimeHigh` hold whenever you look. `varianceReduction` is the share of the variance that the score at entry explains. Rows by channel and device at the entry are for exploration: some differ by chance.",
	parameters: ['experiment', 'asOf', 'timezone', 'include'],
	columns: {
		...styled(['conversionRate', 'difference', 'low', 'high'], { isShare: true }),
		read: { isShare: true, heading: 'page asked' },
		...styled(['treatedRate', 'holdoutRate', 'rateDifference', 'rateLow', 'rateHigh'], { isShare: true }),
		anytimeLow: { isShare: true, heading: 'low, whenever you look' },
		anytimeHigh: { isShare: true, heading: 'high, whenever you look' },
		anytimeLowPence: { heading: 'low, whenever you look' },
		anytimeHighPence: { heading: 'high, whenever you look' },
		varianceReduction: { isShare: true, heading: 'less variance' },
		netPerVisitorPence: { heading: 'net per visitor' },
	},
	async make({ account, control, store, query, asOfMs, calendar, read }) {
		const experiments = await control.experiments(account.id);
		const experiment = chosenExperiment(experiments, query.experiment);
		if (!experiment)
			return {
				experiment: null,
				groups: undefined,
				lift: undefined,
				goal: null,
				holdoutPercent: 0,
				beginsOn: null,
				isOver: false,
				rows: [],
				warnings: ["The account has no experiment; 'caskade experiment create' begins one."],
			};
		const { name, segment, rule, holdoutPercent, fromMs } = experiment;
		const [goal] = goalsAsked(await control.goals(account.id), experiment.goal);
		if (!goal) throw new Error('a goal that was asked for is there');
		const period = { fromMs, toMs: endOf(experiment) };
		const entering = { rule, goal, period, asOfMs, include: query.include };
		const { entrants: entered, gateways, ...about } = await entrantsIn(store, account, entering);
		const journeys = await read((options) => readSubscriptions({ ...options, period: allTime }));
		const units = unitsOf(entered, journeys, experiment);
		const left = unitsOf(gateways, journeys, experiment);
		const reads = query.asOf === null ? await control.experimentReads(account.id, name) : undefined;
		const groups = {
			treated: figuresOf(units, 'treated', reads?.treated, left),
			holdout: figuresOf(units, 'holdout', reads?.holdout, left),
		};
		const known = units.filter((unit) => unit.isConverted !== undefined);
		const holdoutShare = holdoutPercent / 100;
		const capPence = valueAt(known.map(paid), winsorisedShare) ?? Number.POSITIVE_INFINITY;
		const lift = {
			conversionRate: liftOf(known, isConverted, holdoutShare, 6),
			netPencePerVisitor: liftOf(known, paid, holdoutShare, 2),
			winsorisedNetPencePerVisitor: liftOf(known, (unit) => Math.min(capPence, paid(unit)), holdoutShare, 2),
		};
		const { fromMs: firstHitMs } = await read(() => historyExtent(asOfMs));
		const isLater = Number.isFinite(firstHitMs) && firstHitMs >= fromMs + dayMs;
		const logBegins = isLater ? calendar.dayOf(firstHitMs) : null;
		const found = {
			...about,
			gateways: left.length,
			experiment,
			groups,
			lift,
			logBegins,
			cap: moneyOf(account.currency)(capPence),
			asOfMs,
		};
		return {
			gatewayVisitors: gateways.length,
			experiment: name,
			servedSegment: segment,
			goal: goal.name,
			holdoutPercent,
			beginsOn: asOfMs < fromMs ? calendar.dayOf(fromMs) : null,
			isOver: endOf(experiment) <= asOfMs,
			...daysOf(experiment, calendar),
			groups,
			leftOut: about.leftOut,
			leftOutConversions: about.leftOutConversions,
			lift,
			scoredBy: about.scoredBy,
			rows: [rowOf('all', '', known, holdoutShare), ...explored(known, holdoutShare)],
			warnings: warningsOf(found),
			notes: notesOf(found),
		};
	},
	answer({ experiment, groups, lift, goal, holdoutPercent, beginsOn, isOver }, money) {
		if (!experiment || !groups || !lift) return null;
		if (beginsOn) return `${experiment} begins on ${beginsOn}.`;
		if (isBroken(groups, holdoutPercent))
			return `${experiment} cannot be trusted: its groups are not as large as they were drawn, so something loses visitors of one group.`;
		const { difference, anytimeLow, anytimeHigh } = lift.conversionRate;
		const state = isOver ? 'has ended' : 'is running';
		if (anytimeLow === null || anytimeHigh === null || difference === null)
			return `${experiment} ${state}, and has too few visitors to tell anything: each group needs 100 whose outcome is known, and they have ${groups.treated.visitors} and ${groups.holdout.visitors}.`;
		const points = (share: number) => formatPercent(share, 1).slice(0, -2);
		const interval = `${anytimeLow > 0 || difference > 0 ? '+' : ''}${points(difference)} percentage points (likely ${points(anytimeLow)} to ${points(anytimeHigh)}, whenever you look)`;
		const verdict =
			anytimeLow > 0
				? `${isOver ? 'worked' : 'works'}: more of those who got the segment reached the goal ${goal}`
				: anytimeHigh < 0
					? `${isOver ? 'did' : 'does'} harm: fewer of those who got the segment reached the goal ${goal}`
					: `does not show${isOver ? '' : ' yet'} whether it works`;
		const net = lift.netPencePerVisitor;
		const ofMoney =
			net.difference === null || net.anytimeLow === null || net.anytimeHigh === null
				? ''
				: ` Net per visitor ${signed(net.difference, money)} (likely ${money(net.anytimeLow)} to ${money(net.anytimeHigh)})${net.anytimeLow <= 0 && net.anytimeHigh >= 0 ? ', which may be chance' : ''}.`;
		return `${experiment} ${state}, and ${verdict}: ${interval}.${ofMoney}`;
	},
	parts({ groups, lift, rows }): readonly SideTable[] | null {
		if (!groups || !lift) return null;
		const { varianceReduction, unadjusted, ...rate } = lift.conversionRate;
		const pence = (of: string, { unadjusted: _, varianceReduction: less, ...figures }: Lift) => ({
			of,
			...Object.fromEntries(Object.entries(figures).map(([name, value]) => [`${name}Pence`, value])),
			varianceReduction: less,
		});
		return [
			{
				title: 'Groups',
				rows: experimentGroups.map((group) => ({ group, ...groups[group] })),
			},
			{
				title: 'Conversion rate: treated minus held out, in percentage points',
				rows: [{ ...rate, varianceReduction }],
			},
			{
				title: 'Net per visitor: treated minus held out',
				rows: [
					pence('plain', lift.netPencePerVisitor),
					pence('winsorised', lift.winsorisedNetPencePerVisitor),
				],
			},
			{
				title: 'Exploration: by channel and device at the entry, with ordinary intervals',
				rows,
			},
		];
	},
	draw({ lift, rows }, _, money) {
		if (!lift) return null;
		const looks = (figures: Lift) => [
			{ of: 'whenever you look', ...figures, low: figures.anytimeLow, high: figures.anytimeHigh },
			{ of: 'one planned look', ...figures },
		];
		const bounds = ['low', 'high'] as const;
		const difference = { name: 'difference', column: 'difference' };
		const some = rows.filter(({ part, rateDifference }) => part !== 'all' && rateDifference !== null);
		if (lift.conversionRate.difference === null) return null;
		return [
			dots(looks(lift.conversionRate), [difference], {
				title: 'Conversion rate: treated minus held out, with the 95 % interval',
				isShare: true,
				bounds,
			}),
			dots(looks(lift.netPencePerVisitor), [difference], {
				title: 'Net per visitor: treated minus held out, with the 95 % interval',
				money,
				bounds,
			}),
			dots(
				some.map(({ part, value, ...row }) => ({ part, value, ...row })),
				[{ name: 'difference', column: 'rateDifference' }],
				{
					title: 'Exploration: conversion rate by channel and device',
					isShare: true,
					bounds: ['rateLow', 'rateHigh'],
				},
			),
		];
	},
});
