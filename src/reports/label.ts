import type { Touch, TouchDimension } from '../domain/touch.ts';
import type { LabelledPath } from './model.ts';

/** What a report tells rows apart by: one or two dimensions of touches, or nothing. */
export type Grouping = readonly TouchDimension[];

/** The values of a row's dimensions. */
export type Label = readonly string[];

/** Whoever has no touch. */
export const none = '(none)';
/** A touch without a value of the dimension. */
const notSet = '(not set)';
/** Values beyond the most frequent, so that no report grows without bound. */
export const other = '(other)';
const maxLabels = 200;
const separator = '\u001f';

/** The value of a touch by which a report tells it apart. */
export function labelOf(touch: Touch, by: Grouping): string {
	return by.map((dimension) => touch[dimension] ?? notSet).join(separator);
}

export function labelValues(label: string, by: Grouping): Label {
	if (by.length === 0) return [];
	return label === none || label === other ? by.map(() => label) : label.split(separator);
}

/** Labels by number: the most frequent ones of their own, the others together. */
export class Labels {
	readonly #numbers: ReadonlyMap<string, number>;
	readonly names: readonly string[];

	/** @param counts how often each label is there */
	constructor(counts: ReadonlyMap<string, number>) {
		const byCount = [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1)).map(([name]) => name);
		const kept = byCount.slice(0, byCount.length > maxLabels ? maxLabels - 1 : maxLabels).sort();
		this.names = byCount.length > maxLabels ? [...kept, other] : kept;
		this.#numbers = new Map(kept.map((name, number) => [name, number]));
	}

	numberOf(label: string): number {
		return this.#numbers.get(label) ?? this.names.length - 1;
	}
}

/** A path with the numbers of its labels. */
export function labelledPath(
	touches: readonly Touch[],
	convertedAtMs: number,
	numberOf: (touch: Touch) => number,
): LabelledPath {
	return {
		labels: touches.map(numberOf),
		agesMs: touches.map(({ atMs }) => convertedAtMs - atMs),
		isDirect: touches.map(({ channel }) => channel === 'direct'),
	};
}
