import { counted, formatNumber, formatPercent } from '../../core/format/numbers.ts';
import { logOddsOfProbability as logOdds } from '../../core/scoring/model/log-odds.ts';
import type { ShareWithBounds } from './share-interval.ts';

/**
 * Standard deviations from which on an answer says that something is so: that one of two is more, or one of all; and that the highest of
 * several is more than the lowest, which chance alone sets further apart. It is wrong in fewer than one of 100 (`npm run proof:answers`).
 */
const [sureDeviations, sureDeviationsOfRange] = [3, 3.7];
/** Of an interval of 95 %. */
const boundDeviations = 1.96;

interface NamedShare extends ShareWithBounds {
	readonly name: string;
}

/** The highest and the lowest of some shares, and whether each is surely beyond all others. */
function extremesOf(groups: readonly NamedShare[]) {
	const sorted = groups.toSorted((a, b) => b.share - a.share);
	const [most, ...others] = sorted;
	const least = others.at(-1);
	if (!most || !least) return undefined;
	return {
		most,
		least,
		isMost: others.every((other) => isSurelyMore(most, other)),
		isMore: isSurelyMore(most, least, sureDeviationsOfRange),
		isLeast: sorted.every((other) => other === least || isSurelyMore(other, least)),
	};
}

/** By the difference of their log odds, as wide as their intervals are. */
function isSurelyMore(more: ShareWithBounds, less: ShareWithBounds, deviations = sureDeviations): boolean {
	const [one, other] = [onLogOdds(more), onLogOdds(less)];
	return one.middle - other.middle > deviations * Math.hypot(one.deviation, other.deviation);
}

function onLogOdds({ low, high }: ShareWithBounds): { readonly middle: number; readonly deviation: number } {
	const middle = logOdds((low + high) / 2);
	// Of a bound at 0 or 1, which is infinitely far, the other side tells.
	const half =
		low <= 0
			? logOdds(high) - middle
			: high >= 1
				? middle - logOdds(low)
				: (logOdds(high) - logOdds(low)) / 2;
	return { middle, deviation: half / boundDeviations };
}

/**
 * Which of some groups has most and which least of what a sentence is about. Where that may be chance, it says so.
 * @param share what the shares are, such as `Conversion rate`
 * @param left how many are too small to be compared
 */
export function extremesText(
	groups: readonly NamedShare[],
	{ share, left }: { readonly share: string; readonly left: number },
): string | null {
	const found = extremesOf(groups);
	if (!found) return null;
	const { most, least, isMore } = found;
	// Who is too small to be compared may be ahead of all.
	const [isMost, isLeast] = [found.isMost, found.isLeast].map((isSure) => isSure && left === 0);
	const [first, last] = [boundedText(most), boundedText(least)];
	const told =
		isMost && isLeast
			? `highest for ${most.name}, ${first}; lowest for ${least.name}, ${last}`
			: isMost
				? `highest for ${most.name}, ${first}`
				: isLeast
					? `lowest for ${least.name}, ${last}`
					: isMore
						? `higher for ${most.name}, ${first}, than for ${least.name}, ${last}`
						: `from ${first} for ${most.name} to ${last} for ${least.name}, with too few to be sure`;
	const others = left > 0 ? ` ${counted(left, 'other is', 'others are')} too small to compare.` : '';
	return `${share}: ${told}.${others}`;
}

/** With the interval of 95 %, for example: 66.0 % (likely 58.1 to 73.0 %). */
export function boundedText({ share, low, high }: ShareWithBounds): string {
	return `${formatPercent(share, 1)} (likely ${formatPercent(low, 1).slice(0, -2)} to ${formatPercent(high, 1)})`;
}

/** What two counts of equal times differ by, and whether a steady rate may have made it. */
export function countChangeText(now: number, before: number, noun: string): string {
	if (now === before) return `${counted(now, noun)}, as before`;
	const isSure = Math.abs(now - before) > sureDeviations * Math.sqrt(now + before);
	return `${counted(now, noun)}, ${formatNumber(before)} before: ${isSure ? 'more than chance explains' : 'the difference may be chance'}`;
}

/** For example: £39.92 (4.0 %) less than in. */
export function moreText(now: number, before: number, shown: (value: number) => string): string {
	if (now === before) return 'as much as in';
	const difference = Math.abs(now - before);
	const share = before > 0 ? ` (${formatPercent(difference / before, 1)})` : '';
	return `${shown(difference)}${share} ${now > before ? 'more' : 'less'} than in`;
}

/** An amount with its sign. */
export function signed(value: number, shown: (value: number) => string): string {
	return value > 0 ? `+${shown(value)}` : shown(value);
}
