import { compareTexts } from '../../core/domain/compare-texts.ts';
import type { Calendar } from '../../kit/reports/calendar.ts';
import { begunAtMs, type PaidJourney } from '../../kit/reports/courses.ts';
import { type GroupValues, groupsOf } from '../../kit/reports/grouping.ts';
import type { Grouping } from '../../kit/reports/label.ts';
import { sumOf } from '../../kit/reports/sums.ts';

/** Subscriptions of one group that began in one month. */
interface Cohort {
	readonly month: string;
	readonly values: GroupValues;
	readonly members: readonly PaidJourney[];
	/** All of its group. */
	readonly group: readonly PaidJourney[];
}

/** The cohorts of subscriptions by month, those of the largest groups first. */
export function cohortsOf(
	journeys: readonly PaidJourney[],
	{ by, calendar }: { readonly by: Grouping; readonly calendar: Calendar },
): Cohort[] {
	return groupsOf(journeys, by)
		.flatMap(({ values, members: group }) =>
			[...Map.groupBy(group, (journey) => calendar.monthOf(begunAtMs(journey)))].map(([month, members]) => ({
				month,
				values,
				members,
				group,
			})),
		)
		.sort((a, b) => compareTexts(a.month, b.month));
}

/** The cohorts that have reached each age, from 0, while there are any. @param listOf has a number for each age that is over */
export function* byAge<Row>(
	rows: readonly Row[],
	listOf: (row: Row) => readonly (number | null)[],
): Generator<{ readonly age: number; readonly sum: (of: (row: Row) => number) => number }> {
	for (let age = 0; ; age++) {
		const reached = rows.filter((row) => typeof listOf(row)[age] === 'number');
		if (reached.length === 0) return;
		yield { age, sum: (of) => sumOf(reached, of) };
	}
}
