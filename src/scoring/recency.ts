/**
 * How lately somebody was there, as of a moment: 0 within half an hour, as the visit that goes on; 1 within the horizon of
 * the goal; 2 before that. Levels differ most by it, and drift apart, so each has its own.
 */
export type Recency = 0 | 1 | 2;

export const recencies = [0, 1, 2] as const;

const visitMs = 30 * 60_000;

export function recencyOf(
	{ lastAtMs }: { readonly lastAtMs: number },
	nowMs: number,
	horizonMs: number,
): Recency {
	const passedMs = nowMs - lastAtMs;
	return passedMs <= visitMs ? 0 : passedMs <= horizonMs ? 1 : 2;
}
