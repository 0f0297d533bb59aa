import { compareTexts } from '../../core/domain/compare-texts.ts';
import type { CoursedJourney } from './courses.ts';
import { type Grouping, maxLabels, none, notSet, other, quotedName } from './label.ts';

/** The values of a group's dimensions, by name. A price is a number of pence. */
export type GroupValues = Readonly<Record<string, string | number>>;

export interface Group<Member> {
	readonly values: GroupValues;
	readonly members: readonly Member[];
}

/**
 * Groups subscriptions by their first touch, the `evt` of their acquisition and the first price above nothing. The largest
 * groups come first, and all but 199 are one.
 */
export function groupsOf<Member extends CoursedJourney>(
	journeys: readonly Member[],
	by: Grouping,
): Group<Member>[] {
	const groups = [...Map.groupBy(journeys, (journey) => JSON.stringify(valuesOf(journey, by)))]
		.sort(([a, m], [b, n]) => n.length - m.length || compareTexts(a, b))
		.map(([name, members]): Group<Member> => ({ values: named(by, JSON.parse(name)), members }));
	if (groups.length <= maxLabels) return groups;
	const rest = groups.slice(maxLabels - 1).flatMap(({ members }) => members);
	const values = named(
		by,
		by.map(() => other),
	);
	return [...groups.slice(0, maxLabels - 1), { values, members: rest }];
}

/** The name that a dimension has in rows. */
export function columnOf(dimension: string): string {
	return dimension === 'price' ? 'pricePence' : dimension;
}

function named(by: Grouping, values: readonly (string | number)[]): GroupValues {
	return Object.fromEntries(
		by.map((dimension, place) => [columnOf(dimension), values[place] as string | number]),
	);
}

function valuesOf({ subscription, path, payments }: CoursedJourney, by: Grouping): (string | number)[] {
	const [first] = path;
	return by.map((dimension) => {
		if (dimension === 'evt') return quotedName(subscription.evt);
		if (dimension === 'price') return payments.find(({ pricePence }) => pricePence > 0)?.pricePence ?? 0;
		if (!first) return none;
		const value = first[dimension];
		return value === null ? notSet : quotedName(value);
	});
}
