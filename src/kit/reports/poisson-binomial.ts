/** What is left out at either end of the distribution. */
const negligible = 1e-14;

/**
 * The smallest and the largest count that are no surprise at 95 %: below and above them lie at most 2.5 % each. The count is
 * the number of successes in independent trials of unequal chances, whose distribution (Poisson-binomial) is computed
 * exactly, one trial after another: Hong (2013), "On computing the distribution function for the Poisson binomial
 * distribution", section 2.5. What has less than 1e-14 at either end is dropped on the way, so that n trials cost n·√n.
 */
export function countBounds(chances: readonly number[]) {
	let probabilities = new Float64Array([1]);
	let first = 0;
	for (const chance of chances) {
		const next = new Float64Array(probabilities.length + 1);
		for (let place = 0; place < probabilities.length; place++) {
			const probability = probabilities[place] as number;
			next[place] = (next[place] as number) + probability * (1 - chance);
			next[place + 1] = probability * chance;
		}
		let [from, to] = [0, next.length];
		while (to - from > 1 && (next[from] as number) < negligible) from++;
		while (to - from > 1 && (next[to - 1] as number) < negligible) to--;
		first += from;
		probabilities = next.subarray(from, to);
	}
	const quantile = (share: number, from: number, step: number): number => {
		let sum = 0;
		for (let place = from; place >= 0 && place < probabilities.length; place += step) {
			sum += probabilities[place] as number;
			if (sum > share) return first + place;
		}
		return first + (step > 0 ? probabilities.length - 1 : 0);
	};
	return { low: quantile(0.025, 0, 1), high: quantile(0.025, probabilities.length - 1, -1) };
}
