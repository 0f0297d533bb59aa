import { type Choice, minOwnStandardErrors, minStandardErrors } from './choose.ts';
import type { Line, RecentRows, TimedRows } from './level.ts';
import type { LogisticFit } from './logistic.ts';
import { type Interval, logistic } from './measure.ts';
import { type Recency, recencies } from './recency.ts';

export function percent(share: number): string {
	return `${(share * 100).toFixed(share < 0.01 ? 2 : 1)} %`;
}

export function withInterval({ value, low, high }: Interval, digits = 4): string {
	return `${value.toFixed(digits)} (${low.toFixed(digits)} to ${high.toFixed(digits)})`;
}

/** Why a gain is disregarded. */
function doubt({ high }: Interval): string {
	return high < 0 ? 'a loss' : 'which may be chance';
}

/** The kind of model that was chosen, and why. */
export function kindSentence(choice: Choice, fit: LogisticFit | undefined): string {
	const losses = `Log loss on later rows: logistic ${choice.logisticLogLoss.toFixed(4)} at strength ${choice.strength}, boosting ${choice.boostingLogLoss.toFixed(4)} with ${choice.trees} trees; boosting gains ${withInterval(choice.boostingGain)}`;
	if (choice.kind === 'boosting') return `${losses}, more than chance explains, so boosting was chosen.`;
	const convergence = fit
		? ` It ${fit.converged ? 'converged' : 'did not converge'} in ${fit.steps} steps.`
		: '';
	return `${losses}, ${doubt(choice.boostingGain)}, so the logistic model was chosen.${convergence}`;
}

/** How scores are spread, and why. */
export function shapeSentence({
	shape: { slope, triedSlope, gain, blocksThatGain, blocks },
}: Choice): string {
	const tried = `a slope of ${triedSlope} gains ${gain.toFixed(4)} of log loss, in ${blocksThatGain} of ${blocks} blocks that did not choose it`;
	return slope === 1
		? `Log-odds are spread as the model gives them: ${tried}.`
		: `Log-odds are multiplied by ${slope}: ${tried}.`;
}

/** The share of the model's log-odds that is served, and why. */
export function signalSentence({ signal: { standardErrors, shares } }: Choice): string {
	return `Its predictions correlate with later outcomes by ${standardErrors.toFixed(1)} standard errors, so ${shares.map(percent).join(', ')} of its distance from the base rate is served: ${ofEachRecency}`;
}

/** Why the base rate is served. */
export function noSignalSentence({ signal: { standardErrors } }: Choice): string {
	const errors = `${standardErrors.toFixed(1)} standard errors`;
	return standardErrors > minStandardErrors
		? `The model's predictions correlate with later outcomes by ${errors}, but neither among visitors who are present nor among others by more than ${minOwnStandardErrors}; less may be chance.`
		: `The model's predictions correlate with later outcomes by only ${errors}; up to ${minStandardErrors} may be chance.`;
}

/** The rows that set the levels, and the base rates where there is no signal. */
export function levelSentence(
	{ atMs, labels, recency }: TimedRows,
	recent: RecentRows,
	lines: readonly Line[],
): string {
	const day = (row: number | undefined) => new Date(atMs[row ?? 0] as number).toISOString().slice(0, 10);
	const known = recencies.filter((each) => recency.includes(each));
	const rates = known
		.filter((each) => lines[each]?.slope !== 0)
		.map((each) => {
			const rows = recent[each];
			const rate = rows.reduce((sum, row) => sum + (labels[row] as number), 0) / rows.length;
			// A recency with too few outcomes has the level of all.
			const who = rows.every((row) => recency[row] === each)
				? `who ${recencyTexts[each]}`
				: `of any recency, for those who ${recencyTexts[each]}`;
			return `${percent(rate)} of the ${rows.length} since ${day(rows[0])} ${who}`;
		});
	const base = known.filter((each) => lines[each]?.slope === 0);
	return [
		...(rates.length > 0 ? [`The level is the rate of the most recent rows: ${rates.join(', ')}.`] : []),
		...(base.length > 0
			? [
					`Without a signal of their own, others get the base rate: ${ratesText(
						lines.map(({ intercept }) => logistic(intercept)),
						base,
					)}.`,
				]
			: []),
	].join(' ');
}

/** How early outcomes move the level. */
export function earlyLevelSentence(shifts: readonly number[], earlyDays: number): string {
	return `What came within ${daysText(Math.round(earlyDays))}, which is known sooner, moves the level by ${shifts.map((shift) => (Math.round(shift * 100) / 100 || 0).toFixed(2)).join(', ')} in log-odds: ${ofEachRecency}`;
}

/** What is served without a model. */
export function baseRateSentence(
	rateOfRows: number,
	baseRates: readonly number[] | undefined,
	{ recency }: TimedRows,
): string {
	const known = recencies.filter((each) => recency.includes(each));
	return baseRates && known.length > 0
		? `Everybody gets the base rate of visitors of like recency: ${ratesText(baseRates, known)}.`
		: `Everybody gets the base rate, ${percent(rateOfRows)}.`;
}

function ratesText(rates: readonly number[], of: readonly Recency[]): string {
	return of.map((each) => `${percent(rates[each] as number)} for those who ${recencyTexts[each]}`).join(', ');
}

/** Explains three figures, one for each recency. */
const ofEachRecency = 'for visitors who are present, were present within the horizon, and before that.';
const recencyTexts = ['were present', 'were present within the horizon', 'were present before that'] as const;

/** A feature's name for people; some names do not say what they count. */
export function featureText(name: string): string {
	const [, page] = /^page:(.*)$/su.exec(name) ?? [];
	return page === undefined ? name : `days since page ${page}`;
}

export function daysText(days: number): string {
	return `${days} day${days === 1 ? '' : 's'}`;
}
