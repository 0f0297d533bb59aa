import { dayMs } from '../../core/durations.ts';
import { OperatorError } from '../../core/errors.ts';

/** What a series has a row for. */
export const spanLengths = ['day', 'week', 'month'] as const;
export type SpanLength = (typeof spanLengths)[number];

/** A month, a week or a day: from a moment, inclusive, to a moment, exclusive. */
export interface Span {
	/** For example 2026-03, the Monday of a week, or the day. */
	readonly name: string;
	readonly fromMs: number;
	readonly toMs: number;
	/** How much of it is meant, where that is not all, such as `4 of 30 days`; null where it is. */
	readonly part: string | null;
}

const maxSpans = 1000;

/** Days, weeks and months of one time zone. */
export class Calendar {
	readonly timezone: string;
	/** Cached starts of months, by name. */
	readonly #starts = new Map<string, number>();
	/** Months by UTC day, for days that lie in one month of the zone, as almost all do. */
	readonly #months = new Map<number, string>();

	/** @throws RangeError where the zone does not exist */
	constructor(timezone: string) {
		Temporal.PlainDate.from('1970-01-01').toZonedDateTime(timezone);
		this.timezone = timezone;
	}

	/** The start of a day. @param day for example 2026-03-29 */
	startOfDay(day: string): number {
		return Temporal.PlainDate.from(day).toZonedDateTime(this.timezone).epochMilliseconds;
	}

	/** The month of a moment, for example 2026-03. */
	monthOf(ms: number): string {
		const day = Math.floor(ms / dayMs);
		const known = this.#months.get(day);
		if (known !== undefined) return known;
		const [first, last] = [day * dayMs, (day + 1) * dayMs - 1].map((at) => this.#monthAt(at)) as [
			string,
			string,
		];
		if (first !== last) return this.#monthAt(ms);
		this.#months.set(day, first);
		return first;
	}

	#monthAt(ms: number): string {
		return this.#at(ms).toPlainDate().toPlainYearMonth().toString();
	}

	/** The day of a moment, for example 2026-03-29. */
	dayOf(ms: number): string {
		return this.#at(ms).toPlainDate().toString();
	}

	/** The time of a moment to the second, for example 2026-03-29 10:05:00. */
	timeOf(ms: number): string {
		return this.#at(ms).toPlainDateTime().toString({ smallestUnit: 'second' }).replace('T', ' ');
	}

	/** The same time of day, some days before. */
	daysBefore(ms: number, days: number): number {
		return this.#at(ms).subtract({ days }).epochMilliseconds;
	}

	startOfMonth(month: string): number {
		return this.#starts.getOrInsertComputed(month, () => this.startOfDay(`${month}-01`));
	}

	/**
	 * All months, weeks or days from that of a moment to that of another.
	 * @throws OperatorError where there are too many for anybody
	 */
	spans(length: SpanLength, fromMs: number, lastMs: number): Span[] {
		const day = this.#at(fromMs).toPlainDate();
		const begins = { month: { days: day.day - 1 }, week: { days: day.dayOfWeek - 1 }, day: { days: 0 } };
		let first = day.subtract(begins[length]);
		const spans: Span[] = [];
		for (;;) {
			if (spans.length > maxSpans)
				throw new OperatorError(
					`There are more than ${maxSpans} ${length}s; choose longer ones, or a shorter period.`,
				);
			const next = first.add({ [`${length}s`]: 1 });
			const [startMs, toMs] = [first, next].map((date) => this.startOfDay(date.toString())) as [
				number,
				number,
			];
			if (startMs > lastMs) return spans;
			const name = length === 'month' ? first.toPlainYearMonth() : first;
			// A zone that has crossed the date line has skipped a day.
			if (startMs < toMs) spans.push({ name: name.toString(), fromMs: startMs, toMs, part: null });
			first = next;
		}
	}

	#at(ms: number): Temporal.ZonedDateTime {
		return Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(this.timezone);
	}
}

/** How much of a span lies within a period, in days, also those that have begun; null if all of it does. @param nowMs when it is looked at */
export function partOf(
	{ fromMs, toMs }: Pick<Span, 'fromMs' | 'toMs'>,
	period: { readonly fromMs: number; readonly toMs: number },
	calendar: Calendar,
	nowMs: number,
): string | null {
	const isOpen = nowMs < Math.min(toMs, period.toMs) - 1;
	const [firstMs, lastMs] = [Math.max(fromMs, period.fromMs), Math.min(toMs - 1, period.toMs - 1, nowMs)];
	if (firstMs === fromMs && lastMs === toMs - 1) return null;
	const daysFrom = (ms: number, untilMs: number) =>
		daysBetween(calendar.dayOf(ms), calendar.dayOf(untilMs)) + 1;
	const days = daysFrom(fromMs, toMs - 1);
	if (days === 1) return 'so far';
	return `${daysFrom(firstMs, lastMs)} of ${days} days${isOpen ? ' so far' : ''}`;
}

/** Whether a period, from a day to the day after its last one, is of whole calendar months. */
export function isOfMonths(from: string, to: string): boolean {
	return from.endsWith('-01') && to.endsWith('-01');
}

/** @throws OperatorError where the time zone does not exist */
export function calendarOf(timezone: string): Calendar {
	try {
		return new Calendar(timezone);
	} catch {
		throw new OperatorError(`There is no time zone ${timezone}; write it like Europe/London.`);
	}
}

export function addMonths(month: string, months: number): string {
	return Temporal.PlainYearMonth.from(month).add({ months }).toString();
}

/** The number of months between two months. */
export function monthsBetween(from: string, to: string): number {
	const number = (month: string) => Number(month.slice(0, 4)) * 12 + Number(month.slice(5, 7));
	return number(to) - number(from);
}

/** A day some days later. */
export function addDays(day: string, days: number): string {
	return Temporal.PlainDate.from(day).add({ days }).toString();
}

/** The number of days from one day to another. */
export function daysBetween(from: string, to: string): number {
	return Temporal.PlainDate.from(from).until(to, { largestUnit: 'days' }).days;
}
