import { compareTexts } from '../../core/domain/compare-texts.ts';
import {
	type EventLabel,
	eventLabelNames,
	eventLabels,
	type SubscriptionEvent,
} from '../../core/domain/subscription-event.ts';
import { type Touch, touchDimensions, touchNames } from '../../core/domain/touch.ts';
import { listed } from '../../core/format/numbers.ts';
import { withoutHidden } from '../../kit/format/hidden-characters.ts';
import type { ReportQuery } from '../../kit/reports/report-query.ts';

/** What a report could be filtered by. */
interface KnownNames {
	readonly events: readonly Pick<SubscriptionEvent, EventLabel>[];
	readonly paths: readonly (readonly Touch[])[];
}

/** Sentences on names in a query that nothing has: a mistyped filter gives a report of nothing. */
export function unknownNames({ events, paths }: KnownNames, query: ReportQuery): string[] {
	return [
		...eventLabelNames.flatMap((label) =>
			unknown(eventLabels[label], query[label], new Set(events.map((event) => event[label]))),
		),
		...touchDimensions.flatMap((name) => {
			if (query[name] === null) return [];
			const known = paths.flatMap((path) => path.map((touch) => touch[name]));
			return unknown(touchNames[name], query[name], new Set(known));
		}),
		...Object.keys(query.period).flatMap((evt) =>
			unknown(eventLabels.evt, evt, new Set(events.map((event) => event.evt))),
		),
	];
}

/** @param all null for what has none */
export function unknown(what: string, name: string | null, all: ReadonlySet<string | null>): string[] {
	if (name === null || all.has(name)) return [];
	const known = [...all].filter((one) => one !== null);
	const nearest = known
		.map((one) => ({ one, distance: distanceOf(name.toLowerCase(), one.toLowerCase()) }))
		.sort((a, b) => a.distance - b.distance || compareTexts(a.one, b.one))
		.slice(0, 3);
	const others =
		nearest.length > 0
			? `; the nearest ${nearest.length > 1 ? 'are' : 'is'} ${listed(nearest.map(({ one }) => `'${one}'`))}`
			: '';
	return [withoutHidden(`Nothing in this report has the ${what} '${name}'${others}.`)];
}

/** How many characters must be put in, taken out or replaced to make one text of the other (Levenshtein). */
function distanceOf(a: string, b: string): number {
	let row = Array.from({ length: b.length + 1 }, (_, place) => place);
	for (const [line, character] of [...a].entries())
		row = row.reduce<number[]>((next, above, place) => {
			const left = next[place - 1];
			const diagonal = (row[place - 1] ?? 0) + (b[place - 1] === character ? 0 : 1);
			next.push(left === undefined ? line + 1 : Math.min(above + 1, left + 1, diagonal));
			return next;
		}, []);
	return row.at(-1) as number;
}
