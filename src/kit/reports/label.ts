import type { Touch, TouchDimension } from '../../core/domain/touch.ts';
import { hidden, withoutHidden } from '../format/hidden-characters.ts';
import type { LabelledPath } from './attribution-model.ts';
import { byCount } from './sums.ts';

/** Properties of subscriptions that reports can group them by, besides those of their touches. */
export const planDimensions = ['evt', 'price'] as const;
export type Dimension = TouchDimension | (typeof planDimensions)[number];

export function isOfTouches(dimension: Dimension): dimension is TouchDimension {
	return !planDimensions.some((name) => name === dimension);
}

/** What a report groups its rows by: one or two dimensions, or nothing. Touches have only their own. */
export type Grouping = readonly Dimension[];

/** The values of a row's dimensions, by name. */
export type Dimensions = { readonly [Name in TouchDimension]?: string };

/** For subscriptions without a touch. */
export const none = '(none)';
/** The ends of paths. */
export const start = '(start)';
export const conversion = '(conversion)';
/** The end of a path of somebody who did not subscribe. */
export const lost = '(lost)';
/** What a picture leaves out of long paths. */
export const moreSteps = '(more steps)';
/** For touches without a value of the dimension. */
export const notSet = '(not set)';
/** For all but the most frequent values, which bounds the size of reports. */
export const other = '(other)';
export const maxLabels = 200;
/** In no name, because names with such characters are quoted. */
const separator = '\u001f';

const reserved: ReadonlySet<string> = new Set([none, notSet, other, start, conversion, lost, moreSteps]);

/**
 * A name that somebody sent, as reports show it: written as a JSON string where it reads like one of our labels, has characters
 * that cannot be seen, or begins with a quotation mark. So no two names read alike.
 */
export function quotedName(name: string): string {
	const isPlain = !name.startsWith('"') && !reserved.has(name) && name.search(hidden) < 0;
	return isPlain ? name : withoutHidden(JSON.stringify(name));
}

/** A touch's value of the dimensions. */
export function labelOf(touch: { readonly [Name in Dimension]?: string | null }, by: Grouping): string {
	const nameOf = (dimension: Dimension) => {
		const value = touch[dimension] ?? null;
		return value === null ? notSet : quotedName(value);
	};
	const [first] = by;
	// Mostly there is one, and millions of touches.
	return first !== undefined && by.length === 1 ? nameOf(first) : by.map(nameOf).join(separator);
}

function valuesOf(label: string, by: Grouping): string[] {
	return label === none || label === other ? by.map(() => label) : label.split(separator);
}

export function dimensionsOf(label: string, by: Grouping): Dimensions {
	const values = valuesOf(label, by);
	return Object.fromEntries(by.map((dimension, place) => [dimension, values[place]]));
}

/** A label in one line. */
export function labelText(label: string): string {
	return label.split(separator).join(' / ');
}

/** The labels of paths, and of what others count. @param always have numbers of their own, however rare and many they are */
export function touchLabelsOf(
	journeys: readonly { readonly path: readonly Touch[] }[],
	others: readonly { counts(): ReadonlyMap<string, number> }[],
	by: Grouping,
	always: readonly string[] = [],
): Labels {
	if (by.length === 0) return new Labels(new Map([['', 1]]));
	const counts = new Map<string, number>();
	for (const [label, count] of others.flatMap((other) => [...other.counts()]))
		if (count > 0) counts.set(label, (counts.get(label) ?? 0) + count);
	for (const { path } of journeys)
		for (const touch of path) {
			const label = labelOf(touch, by);
			counts.set(label, (counts.get(label) ?? 0) + 1);
		}
	return new Labels(counts, always);
}

/** Numbers labels. The most frequent ones have their own numbers, the others share one. */
export class Labels {
	readonly #numbers: ReadonlyMap<string, number>;
	readonly names: readonly string[];

	/**
	 * @param counts the frequency of each label
	 * @param always have their own numbers, however rare and many they are
	 */
	constructor(counts: ReadonlyMap<string, number>, always: readonly string[] = []) {
		const ordered = byCount(counts).map(([name]) => name);
		const all = [...new Set([...always, ...ordered])];
		const isWhole = all.length <= Math.max(maxLabels, always.length);
		const kept = isWhole ? all : all.slice(0, Math.max(maxLabels - 1, always.length));
		kept.sort();
		this.names = isWhole ? kept : [...kept, other];
		this.#numbers = new Map(kept.map((name, number) => [name, number]));
	}

	numberOf(label: string): number {
		return this.#numbers.get(label) ?? this.names.length - 1;
	}
}

/** Without a dimension everything is one row, even subscriptions whose touches are unknown. */
const wholePath: LabelledPath = { labels: [0], agesMs: [0], isDirect: [false] };

/** A path with the numbers of its labels. */
export function labelledPath(
	touches: readonly Touch[],
	convertedAtMs: number,
	{ labels, by }: { readonly labels: Labels; readonly by: Grouping },
): LabelledPath {
	if (by.length === 0) return wholePath;
	return {
		labels: touches.map((touch) => labels.numberOf(labelOf(touch, by))),
		agesMs: touches.map(({ atMs }) => convertedAtMs - atMs),
		isDirect: touches.map(({ channel }) => channel === 'direct'),
	};
}
