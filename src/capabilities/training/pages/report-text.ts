import { leftOutText } from '../../../core/domain/mail-gateways.ts';
import { dayMs } from '../../../core/durations.ts';
import { counted, formatPercent, withMinus } from '../../../core/format/numbers.ts';
import { featureText } from '../../../core/scoring/rows/known-features.ts';
import type { Estimate } from '../fit/measure.ts';
import type { GoalReport, TrainedGoal } from '../judge/account-training.ts';
import { minStandardErrors } from '../judge/choose.ts';
import {
	type Choice,
	type Counts,
	type LaterMeasures,
	type LikelyLeak,
	minConversions,
	type TopFeature,
	type TrainingReport,
} from '../judge/training-report.ts';

export function percent(share: number): string {
	return formatPercent(share, Math.abs(share) < 0.01 ? 2 : 1);
}

export function withInterval({ value, low, high }: Estimate, digits = 4): string {
	if (low === null || high === null) return `${fixed(value, digits)} (too little for an interval)`;
	return `${fixed(value, digits)} (${fixed(low, digits)} to ${fixed(high, digits)})`;
}

/** With so many digits. */
export function fixed(value: number, digits = 4): string {
	return withMinus(value.toFixed(digits));
}

/** The goal that a report is about. */
export function headingOf({ goal, scope, horizonDays, counts }: GoalReport): string {
	if (counts === 'renewal') return `Goal ${goal} of subscribers: that the next renewal comes in time`;
	return `Goal ${goal} of ${scope === 'vid' ? 'visitors' : 'single visits'}, within ${counted(horizonDays, 'day')}`;
}

/** Two lines for a person: how good the model is, and whether it is in use. */
export function verdictOf(trained: TrainedGoal): [string, string] {
	const { later } = trained.report;
	const quality =
		later === undefined
			? whyNotServed(trained.report)
			: `${rankingOf(later)} Predicted ${percent(later.predicted)}, observed ${percent(later.observed)}, on ${later.rows} later rows.`;
	return [quality, useOf(trained)];
}

/** Pages ask about visitors who are present. That most others have left for good is easily told. */
function rankingOf({ auc, present }: LaterMeasures): string {
	const of100 = (share: number) => `${Math.round(share * 100)} of 100`;
	const all = present?.auc == null ? '' : ` (${of100(auc.value)}, including visitors who have left the site)`;
	return `Somebody who reached the goal scores higher than somebody who did not in ${of100(present?.auc ?? auc.value)} pairs${all}.`;
}

/** What is served from now on, and why. */
export function useOf({ version, outcome, former, report }: TrainedGoal): string {
	const before = former ? `version ${former.version}` : 'the base rate';
	switch (outcome) {
		case 'active':
			return `Version ${version} is now in use${former ? `, instead of ${former.version}` : ''}.${report.overlaps ? ' Warning: too few outcomes were known when the rows that judge it began, so it also learned from some that became known later. Train again when the history is longer: the next version replaces it.' : ''}`;
		case 'base rate':
			return report.later === undefined
				? 'The base rate is in use.'
				: `The base rate is in use, not version ${version}: ${lowered(whyNotServed(report))}`;
		case 'nothing stored':
			return `Nothing was stored, and ${before} stays in use.`;
		case 'waits':
			return `Version ${version} waits, and ${before} stays in use: ${leaksText(report.leaks)}. 'caskade model use AID ${report.goal} ${version}${report.scope === 'sid' ? ' --scope sid' : ''}' takes it.`;
		case 'chosen by hand':
			return `Version ${version} is not in use: an operator has chosen ${before}.`;
		case 'knows less':
			return `Version ${version} is not in use: ${former?.version} has learned from later data.`;
	}
}

/** One reason suffices to look at it: that which most visitors have. */
function leaksText(leaks: readonly LikelyLeak[]): string {
	const [first, ...others] = leaks.toSorted((a, b) => b.visitors - a.visitors);
	if (!first) return 'its report has doubts';
	return others.length === 0
		? leakText(first)
		: `${leakText(first)} (and ${counted(others.length, 'other feature')})`;
}

/** What makes a feature suspicious. */
function leakText({ feature, text, why, visitors }: LikelyLeak): string {
	const name = text === undefined ? featureText(feature) : `${feature} '${text}'`;
	return why === 'only converters'
		? `all ${visitors} visitors who got ${name} converted, so it may be known only afterwards`
		: `${name} alone tells nearly all outcomes, so it may be known only afterwards`;
}

export function conversionsText({ conversions, convertedRows }: Counts): string {
	return `${conversions} visitors, in ${convertedRows} rows`;
}

function whyNotServed({ verdict, conversions, convertedRows, choice, ...report }: TrainingReport): string {
	switch (verdict) {
		case 'served':
			return 'It is better than the base rate.';
		case 'no rows':
			if ('counts' in report && report.counts === 'renewal')
				return 'No subscription has reached the end of its time to renew yet.';
			return `No hit is old enough: what followed is known after ${'horizonDays' in report ? `${report.horizonDays} days` : 'a horizon'}.`;
		case 'few conversions':
			return conversions < minConversions
				? `Visitors who converted: ${conversions}, in ${convertedRows} rows. A model needs ${minConversions}.`
				: `Fewer than ${minConversions} visitors have rows without a conversion.`;
		case 'uneven':
			return 'Conversions are spread too unevenly over time to judge a model on later rows.';
		case 'no signal':
			if (choice?.losesOn)
				return `For visitors who ${choice.losesOn === 'present' ? 'are present' : 'have left'}, its predictions are worse than the base rate.`;
			return (choice?.standardErrors ?? 0) > minStandardErrors
				? 'It is no nearer to later outcomes than the base rate.'
				: `It may be right by chance only: its predictions correlate with later outcomes by ${(choice?.standardErrors ?? 0).toFixed(1)} standard errors, and more than ${minStandardErrors} are needed.`;
	}
}

function lowered(sentence: string): string {
	return sentence.charAt(0).toLowerCase() + sentence.slice(1);
}

/** The history that an account's models were trained on; `notable` is what an operator should know anyway. */
export function historySentences({ history }: GoalReport): { usual: string[]; notable: string[] } {
	const { hits, from, to, visitors, gatewayVisitors = 0, sampledShare, silentDays } = history;
	const [usual, notable]: [string[], string[]] = [[], []];
	if (from !== undefined && to !== undefined) {
		const days = Math.max(1, Math.round((Date.parse(to) - Date.parse(from)) / dayMs));
		usual.push(`The history covers ${counted(days, 'day')}, ${from} to ${to}, with ${hits} hits.`);
	}
	if (sampledShare < 1)
		notable.push(`Of ${visitors} visitors, ${percent(sampledShare)} were read, to bound the work.`);
	else usual.push(`All ${visitors} visitors were read.`);
	if (gatewayVisitors > 0) usual.push(leftOutText(gatewayVisitors));
	if (silentDays > 0)
		notable.push(
			`The log ended ${counted(silentDays, 'day')} ago; nothing is known about the time since, so the models are as of its end.`,
		);
	return { usual, notable };
}

/** What was chosen, and why. */
export function choiceSentences({
	choice,
	fit,
	levels,
	verdict,
	overlaps,
	baseRates = [],
}: TrainingReport & Partial<Pick<GoalReport, 'baseRates'>>): string[] {
	return [
		...(choice ? [kindSentence(choice)] : []),
		...(fit
			? [`The fit ${fit.converged ? 'converged' : 'stopped short of the optimum'} in ${fit.steps} steps.`]
			: []),
		...(verdict === 'served' && choice
			? [
					`Its predictions correlate with later outcomes by ${choice.standardErrors.toFixed(1)} standard errors.`,
				]
			: []),
		...levels.map(
			({ recency, rate, rows, since }) =>
				`Those ${recencyTexts[recency]}: the level is that of the latest ${rows} rows since ${since.slice(0, 10)}, of which ${percent(rate)} converted.`,
		),
		...(verdict === 'served'
			? []
			: baseRates.map((rate, recency) => `Those ${recencyTexts[recency]}: the base rate, ${percent(rate)}.`)),
		...(overlaps
			? [
					'Warning: too few outcomes were known when the rows that judge the models began, so these also learned from some that became known later.',
				]
			: []),
	];
}

function kindSentence(choice: Choice): string {
	const { kind, trees, logisticLogLoss, boostingLogLoss, boostingGain, boostingBlocks } = choice;
	const losses = `Log loss on later rows: logistic ${logisticLogLoss.toFixed(4)}, boosting ${boostingLogLoss.toFixed(4)} with ${trees} trees; boosting gains ${withInterval(boostingGain)}`;
	if (kind === 'boosting') return `${losses}, more than chance explains, so boosting was chosen.`;
	if (boostingGain.low > 0 && boostingBlocks)
		return `${losses}, but blocks of time differ too much to tell (it gains in ${boostingBlocks.better} of ${boostingBlocks.of}), so the logistic model was chosen.`;
	return `${losses}, ${boostingGain.high < 0 ? 'a loss' : 'which may be chance'}, so the logistic model was chosen.`;
}

/** How the model that was active before was judged. */
export function formerSentences({ former, report }: TrainedGoal): string[] {
	if (!former?.auc || former.logLoss === null || former.baseRateLogLoss === null || !report.later) return [];
	return [
		`When ${former.version} was trained, its AUC was ${withInterval(former.auc, 3)}, its log loss ${former.logLoss.toFixed(4)}, ${percent(1 - former.logLoss / former.baseRateLogLoss)} below the base rate's.`,
	];
}

const recencyTexts = ['present', 'last present within the horizon', 'last present before that'] as const;

/** What a feature does to scores. */
export function directionText({ direction, text }: TopFeature): string {
	const does = direction === 'varies' ? 'raises or lowers' : direction;
	return `${text === undefined ? (direction === 'varies' ? 'it' : 'more') : `'${text}'`} ${does} the score`;
}
