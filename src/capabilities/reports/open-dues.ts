import type { CoursedJourney } from '../../kit/reports/courses.ts';

/**
 * What is known only later. A subscription that is due and has not paid may still renew until its grace is over: until then
 * figures that count it as there are provisional.
 */

/** A figure that can still change: what it becomes at least and at most, and what is likely. */
export interface Provisional {
	readonly low: number;
	readonly likely: number;
	readonly high: number;
}

/** Whether it is due and may still renew. */
export function isOpen({ course }: CoursedJourney): boolean {
	return course?.state === 'at risk';
}

/** A figure between the two values that it has if all renew or none does. @param among further values that it may have */
export function provisional(likely: number, among: readonly number[]): Provisional {
	const low = Math.min(...among);
	const high = Math.max(...among);
	return { low, likely: Math.min(high, Math.max(low, likely)), high };
}
