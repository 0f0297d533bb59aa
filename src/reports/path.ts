import type { Touch } from '../domain/touch.ts';
import { dayMs } from './model.ts';

export const defaultLookbackDays = 90;
/** Equal touches closer together than this count as one: a page may send several hits, or be reloaded. */
const samePageMs = 30 * 60_000;

/** The owner's touches that are credited for a conversion: those in the lookback period before it. */
export function pathOf<T extends Touch>(
	touches: readonly T[],
	convertedAtMs: number,
	lookbackDays: number,
): readonly T[] {
	const fromMs = convertedAtMs - lookbackDays * dayMs;
	return touches.filter(({ atMs }) => atMs > fromMs && atMs <= convertedAtMs);
}

/** Touches, without repeats of the previous one. @param touches of one visitor, by time */
export function withoutRepeats<T extends Touch>(touches: readonly T[]): T[] {
	const kept: T[] = [];
	let last: T | undefined;
	for (const touch of touches) {
		if (!(last && touch.atMs - last.atMs < samePageMs && isAlike(touch, last))) kept.push(touch);
		last = touch;
	}
	return kept;
}

function isAlike(a: Touch, b: Touch): boolean {
	return (
		a.channel === b.channel &&
		a.source === b.source &&
		a.medium === b.medium &&
		a.campaign === b.campaign &&
		a.landing === b.landing
	);
}
