import { hourMs } from '../../core/durations.ts';

/** Activity by hour of the day (UTC), relative to the busiest hour. */
const hours = [
	...[0.12, 0.07, 0.05, 0.04, 0.05, 0.1, 0.25, 0.45, 0.6, 0.65, 0.68, 0.72],
	...[0.8, 0.75, 0.68, 0.65, 0.66, 0.72, 0.8, 0.92, 1, 0.95, 0.65, 0.3],
];
/** Activity by day of the week, from Sunday. The newsletter goes out on Fridays. */
const weekdays = [0.85, 0.75, 0.72, 0.7, 0.75, 1, 0.8];

/** The shop's activity at a moment, from 0 to 1. */
function busyness(atMs: number): number {
	const date = new Date(atMs);
	return (hours[date.getUTCHours()] as number) * (weekdays[date.getUTCDay()] as number);
}

/** Draws a moment between two others, in proportion to activity and to the time since the first: the shop grows. */
export function arrivalBetween(random: () => number, fromMs: number, untilMs: number): number {
	for (;;) {
		const atMs = Math.floor(fromMs + Math.sqrt(random()) * (untilMs - fromMs));
		if (random() < busyness(atMs)) return atMs;
	}
}

/** Draws the first active moment from `atMs` on. */
export function nextActiveMs(random: () => number, atMs: number): number {
	let at = atMs;
	while (random() >= busyness(at)) at += Math.floor((0.3 + random()) * hourMs);
	return Math.floor(at);
}
