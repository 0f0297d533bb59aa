/** From this mean on, the normal distribution approximates Poisson well. */
const normalFrom = 30;

/** A number of the standard normal distribution (Box–Muller). */
export function normal(random: () => number): number {
	return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

/** A Poisson number: by products of chances (Knuth) where the mean is small, else from the normal distribution. */
export function poisson(mean: number, random: () => number): number {
	if (mean >= normalFrom) return Math.max(0, Math.round(mean + Math.sqrt(mean) * normal(random)));
	const least = Math.exp(-mean);
	let count = -1;
	for (let product = 1; product > least; count++) product *= random();
	return Math.max(0, count);
}

/** The bounds that simulated values keep, but for so large a share at either end. */
export function boundsOf(values: Iterable<number>, outside = 0.025): readonly [low: number, high: number] {
	const sorted = Float64Array.from(values).sort();
	const at = (share: number) => sorted[Math.round(share * (sorted.length - 1))] as number;
	return [at(outside), at(1 - outside)];
}
