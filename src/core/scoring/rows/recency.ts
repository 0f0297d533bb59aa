import { minuteMs } from '../../durations.ts';

/**
 * How recently a visitor was active, as of a moment: 0 within half an hour, as in a running visit; 1 within the goal's
 * horizon; 2 before that. Conversion rates differ most by recency, and change independently, so each has its own level.
 */
export type Recency = 0 | 1 | 2;

export const recencies = [0, 1, 2] as const;

const visitMs = 30 * minuteMs;

export function recencyOf(
	{ lastAtMs }: { readonly lastAtMs: number },
	nowMs: number,
	horizonMs: number,
): Recency {
	const passedMs = nowMs - lastAtMs;
	return passedMs <= visitMs ? 0 : passedMs <= horizonMs ? 1 : 2;
}
