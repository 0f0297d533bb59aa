/** So many registers: the standard error of a count is 1.04 / √1024, 3 %. */
export const registers = 1024;
const registerBits = 10;

/** What a visitor adds to a count of distinct visitors. Equal visitors add the same, so it may be added again. */
export interface CountedBits {
	readonly register: number;
	readonly rank: number;
}

/** @param bits 32 random bits of the visitor */
export function countedBits(bits: number): CountedBits {
	const rest = bits >>> registerBits;
	return { register: bits & (registers - 1), rank: Math.clz32(rest) - registerBits + 1 };
}

/**
 * How many distinct visitors were counted, by HyperLogLog (Flajolet et al. 2007), with linear counting where they are few.
 * @param counted the highest rank of each register; registers without one may be missing
 */
export function distinctCount(counted: readonly CountedBits[]): number {
	const sum = counted.reduce((all, { rank }) => all + 2 ** -rank, registers - counted.length);
	const estimate = (0.7213 / (1 + 1.079 / registers)) * (registers ** 2 / sum);
	const empty = registers - counted.length;
	return Math.round(
		estimate <= 2.5 * registers && empty > 0 ? registers * Math.log(registers / empty) : estimate,
	);
}
