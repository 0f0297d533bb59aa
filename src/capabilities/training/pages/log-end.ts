import { dayMs } from '../../../core/durations.ts';
import { isoTime } from '../../../core/format/iso-time.ts';
import { counted } from '../../../core/format/numbers.ts';

/** What to know of scores that are of a later moment than the end of the log. */
export function logEndedText(endedAtMs: number, nowMs: number): string {
	const days = counted(Math.floor((nowMs - endedAtMs) / dayMs), 'day');
	return `The log ended ${days} ago, at ${isoTime(endedAtMs)}: nothing is known about the time since, and scores take it for a time in which nobody came.`;
}
