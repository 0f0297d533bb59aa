import type { Choice } from './choose.ts';
import type { LogisticFit } from './logistic.ts';
import type { Interval } from './measure.ts';

/** A share as a percentage. */
export function percent(share: number): string {
	return `${(share * 100).toFixed(share < 0.01 ? 2 : 1)} %`;
}

/** A number with its 95 % interval. */
export function withInterval({ value, low, high }: Interval, digits = 4): string {
	return `${value.toFixed(digits)} (${low.toFixed(digits)} to ${high.toFixed(digits)})`;
}

/** Why a gain is not acted upon. */
function doubt({ high }: Interval): string {
	return high < 0 ? 'a loss' : 'which may be chance';
}

/** Which kind of model was chosen, and why. */
export function kindSentence(choice: Choice, fit: LogisticFit | undefined): string {
	const losses = `Log loss on later rows: logistic ${choice.logisticLogLoss.toFixed(4)} at strength ${choice.strength}, boosting ${choice.boostingLogLoss.toFixed(4)} with ${choice.trees} trees; boosting gains ${withInterval(choice.boostingGain)}`;
	if (choice.kind === 'boosting') return `${losses}, more than chance explains, so boosting was chosen.`;
	const convergence = fit
		? ` It ${fit.converged ? 'converged' : 'did not converge'} in ${fit.steps} steps.`
		: '';
	return `${losses}, ${doubt(choice.boostingGain)}, so the logistic model was chosen.${convergence}`;
}

/** Which calibration was chosen, and why. */
export function calibrationSentence({ calibration, calibrationGain }: Choice): string {
	if (!calibrationGain)
		return 'Scores are served as the model gives them: too few later rows whose outcome models did not know to calibrate on.';
	const gain = `${calibrationGain.kind} calibration gains ${withInterval(calibrationGain.gain)} of log loss on later rows`;
	return calibration.kind === 'none'
		? `Scores are served as the model gives them: ${gain}, ${doubt(calibrationGain.gain)}.`
		: `Scores are calibrated: ${gain}.`;
}

/** A feature's name for people: some do not say what they count. */
export function featureText(name: string): string {
	const [, page] = /^page:(.*)$/su.exec(name) ?? [];
	return page === undefined ? name : `days since page ${page}`;
}
