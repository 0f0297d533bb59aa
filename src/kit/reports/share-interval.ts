import { formatPercent } from '../../core/format/numbers.ts';
import { rounded } from './journey.ts';

/** A share and its interval, of 95 % unless it is said, to four digits. */
export interface ShareWithBounds {
	readonly share: number;
	readonly low: number;
	readonly high: number;
}

/** Standard deviations of an interval of 95 %. */
const z95 = 1.96;

/** Wilson's interval, which holds for few, and where all or none stayed. @param of how many the share is of; it may be a fraction */
export function withBounds(share: number, of: number, z = z95): ShareWithBounds {
	const middle = (share + (z * z) / (2 * of)) / (1 + (z * z) / of);
	const half = (z / (1 + (z * z) / of)) * Math.sqrt((share * (1 - share)) / of + (z * z) / (4 * of * of));
	return {
		share: rounded(share, 4),
		low: rounded(Math.max(0, middle - half), 4),
		high: rounded(Math.min(1, middle + half), 4),
	};
}

/** The share that is left after each of several steps (Kaplan–Meier), with its interval. */
export class Survival {
	#left = 1;
	/** Greenwood's, divided by the square of what is left. */
	#variance = 0;

	/** @param of those who were there before, as many as are known to have stayed or not */
	step(stayed: number, of: number): ShareWithBounds {
		this.#left *= Math.min(1, stayed / of);
		this.#variance += Math.max(0, of - stayed) / (of * Math.max(1, stayed));
		const isKnown = this.#variance > 0 && this.#left > 0;
		return withBounds(this.#left, isKnown ? (1 - this.#left) / (this.#left * this.#variance) : of);
	}
}

/** With fewer, a share in per cent says more than is known. */
const fewSubscriptions = 20;

/** A share for people: in per cent, or as it was counted where that is few. */
export function shareText(part: number, of: number): string {
	return of < fewSubscriptions ? `${part} of ${of}` : formatPercent(part / of, 1);
}
