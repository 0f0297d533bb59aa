import { rounded } from './journey.ts';

/** A share and its 95 % interval, to four digits. */
export interface ShareWithBounds {
	readonly share: number;
	readonly low: number;
	readonly high: number;
}

const z = 1.96;

/** Wilson's interval, which holds for few, and where all or none stayed. @param of how many the share is of; it may be a fraction */
export function withBounds(share: number, of: number): ShareWithBounds {
	const middle = (share + (z * z) / (2 * of)) / (1 + (z * z) / of);
	const half = (z / (1 + (z * z) / of)) * Math.sqrt((share * (1 - share)) / of + (z * z) / (4 * of * of));
	return {
		share: rounded(share, 4),
		low: rounded(Math.max(0, middle - half), 4),
		high: rounded(Math.min(1, middle + half), 4),
	};
}

/** With fewer, a share in per cent says more than is known. */
const fewSubscriptions = 20;

/** A share for people: in per cent, or as it was counted where that is few. */
export function shareText(share: number, of: number): string {
	return of < fewSubscriptions ? `${Math.round(share * of)} of ${of}` : `${(100 * share).toFixed(1)} %`;
}
