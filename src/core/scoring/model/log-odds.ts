/** Probabilities come no nearer to 0 and 1, so that one certain mistake has a finite loss. */
const nearest = 1e-7;

export function clipped(probability: number): number {
	return Math.min(1 - nearest, Math.max(nearest, probability));
}

/** The probability for log-odds. */
export function logistic(logOdds: number): number {
	return 1 / (1 + Math.exp(-logOdds));
}

export function logOddsOfProbability(probability: number): number {
	return Math.log(clipped(probability) / (1 - clipped(probability)));
}
