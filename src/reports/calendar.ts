import { dayMs } from '../durations.ts';
import { OperatorError } from '../errors.ts';

/** Days and months of one time zone. */
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

	startOfMonth(month: string): number {
		let startMs = this.#starts.get(month);
		if (startMs === undefined) {
			startMs = this.startOfDay(`${month}-01`);
			this.#starts.set(month, startMs);
		}
		return startMs;
	}

	#at(ms: number): Temporal.ZonedDateTime {
		return Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(this.timezone);
	}
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
