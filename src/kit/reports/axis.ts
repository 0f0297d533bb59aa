import type { ShowMoney } from '../../core/format/money.ts';
import { formatNumber, formatPercent } from '../../core/format/numbers.ts';

/** What values along an axis are. */
export interface Unit {
	/** Where values are amounts of money. */
	readonly money?: ShowMoney | undefined;
	readonly isShare?: boolean | undefined;
}

/** A value with its unit, as it stands beside its mark. */
export function shownBy({ money, isShare }: Unit): (value: number) => string {
	return money ?? (isShare ? (share) => formatPercent(share, 1) : formatNumber);
}

/** Marks with their texts, which have no more digits than they need. */
export function labelledMarks(marks: readonly number[], unit: Unit): string[] {
	const texts = marks.map(unit.isShare ? (share) => `${formatNumber(100 * share)} %` : shownBy(unit));
	return texts.every((text) => /\.0+$/.test(text)) ? texts.map((text) => text.replace(/\.0+$/, '')) : texts;
}

/** Round numbers at equal distances, from below a minimum to above a maximum. @param atLeast the distance */
export function marksBetween(min: number, max: number, atLeast = 0): number[] {
	const least = Math.max(atLeast, (max - min || 1) / 5);
	const power = 10 ** Math.floor(Math.log10(least));
	const distance = power * ([1, 2, 2.5, 5, 10].find((times) => times * power >= least * 0.999) as number);
	const [first, last] = [Math.floor(min / distance), Math.ceil(max / distance)];
	return Array.from({ length: Math.max(last, first + 1) - first + 1 }, (_, mark) =>
		Number(((first + mark) * distance).toPrecision(12)),
	);
}
