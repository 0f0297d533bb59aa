import { creditShares, MarkovChain } from '../../src/capabilities/reports/markov.ts';
import { type SimilarVisitors, shareIntervals } from '../../src/capabilities/reports/markov-interval.ts';
import { dayMs } from '../../src/core/durations.ts';
import { seededRandom } from '../../src/kit/random.ts';
import { LostPaths, lostAfterMs } from '../../src/kit/reports/lost-paths.ts';

/**
 * The Markov model on visitors whose chain is known: how far the shares of a log that ends are from the truth, by the rule that
 * tells which paths are lost, and how often intervals contain the truth.
 */

interface World {
	/** Where paths begin, by label. */
	readonly start: readonly number[];
	/** From each label: to each label, then to a subscription; the rest is lost. */
	readonly next: readonly (readonly number[])[];
	/** The mean time from a touch to the next, in days, from each label. */
	readonly awayDays: readonly number[];
}

/** Four channels; many see the second early, few subscribe right from it; the last is rare. */
export const world: World = {
	start: [0.5, 0.3, 0.18, 0.02],
	next: [
		[0.1, 0.1, 0.2, 0.01, 0.1],
		[0.2, 0.1, 0.15, 0.01, 0.02],
		[0.1, 0.05, 0.1, 0.01, 0.25],
		[0.2, 0.1, 0.2, 0.02, 0.05],
	],
	awayDays: [3, 12, 5, 8],
};
const labels = world.start.length;

/** The shares if everybody's whole path were known. */
export function trueShares(): Float64Array {
	const chain = new MarkovChain(labels);
	const add = (from: number, to: number, part: number) =>
		chain.addTransitions([(from + 1) * (labels + 2) + to], part);
	for (const [to, part] of world.start.entries()) add(-1, to, part);
	for (const [from, parts] of world.next.entries()) {
		for (const [to, part] of parts.entries()) add(from, to, part);
		add(from, labels + 1, 1 - parts.reduce((sum, part) => sum + part, 0));
	}
	return creditShares(chain.removalEffects());
}

interface Walked {
	readonly touches: { readonly label: number; readonly atMs: number }[];
	readonly convertedAtMs: number | null;
}

function pick(parts: readonly number[], random: () => number): number {
	let left = random();
	return parts.findIndex((part) => {
		left -= part;
		return left < 0;
	});
}

export function walk(beganMs: number, random: () => number): Walked {
	const touches = [{ label: pick(world.start, random), atMs: beganMs }];
	for (;;) {
		const { label, atMs } = touches.at(-1) as { label: number; atMs: number };
		const to = pick(world.next[label] as number[], random);
		if (to < 0) return { touches, convertedAtMs: null };
		const wait = -Math.log(1 - random()) * (world.awayDays[label] as number) * dayMs;
		// Whoever subscribes does so soon.
		if (to === labels) return { touches, convertedAtMs: atMs + wait / 10 };
		touches.push({ label: to, atMs: atMs + wait });
	}
}

export type Rule = 'whole look-back' | 'chance has passed' | 'no lost paths';

/** The shares of a log of `days` as of its end. Visitors come from long before it. */
export function sharesOf(
	rule: Rule,
	{
		days,
		visitors,
		fromDay = 0,
		lookbackDays = 90,
	}: { days: number; visitors: number; fromDay?: number; lookbackDays?: number },
	random: () => number,
) {
	const asOfMs = days * dayMs;
	const known = Array.from({ length: visitors }, () => walk(random() * asOfMs, random)).map(
		({ touches, convertedAtMs }) => ({
			touches: touches.filter(({ atMs }) => atMs <= asOfMs),
			convertedAtMs: convertedAtMs !== null && convertedAtMs <= asOfMs ? convertedAtMs : null,
		}),
	);
	const isIn = (atMs: number) => atMs >= fromDay * dayMs;
	const converted = known.flatMap(({ touches, convertedAtMs }) => {
		if (convertedAtMs === null || !isIn(convertedAtMs)) return [];
		return [
			{ path: touches.filter(({ atMs }) => atMs > convertedAtMs - lookbackDays * dayMs), convertedAtMs },
		];
	});
	const lost = new LostPaths();
	for (const { touches, convertedAtMs } of known) {
		const lastAtMs = touches.at(-1)?.atMs ?? 0;
		if (convertedAtMs !== null || !isIn(lastAtMs)) continue;
		for (const { label, atMs } of touches)
			if (atMs > lastAtMs - lookbackDays * dayMs) lost.step(lost.labels.numberOf(String(label)));
		lost.end(lastAtMs);
	}
	const afterMs = rule === 'chance has passed' ? lostAfterMs(converted, lookbackDays) : lookbackDays * dayMs;
	lost.decide(asOfMs, afterMs);
	const chain = new MarkovChain(labels);
	for (const { path } of converted)
		chain.addPath(
			path.map(({ label }) => label),
			true,
		);
	if (rule !== 'no lost paths')
		for (const { labels: path, visitors: times } of lost.labelled(Number)) chain.addPath(path, false, times);
	return { shares: creditShares(chain.removalEffects()), lost: lost.visitors, afterDays: afterMs / dayMs };
}

/** How often the intervals of a label contain the truth, by the conversions that contain the label. */
export function coverage(
	visitors: number,
	runs: number,
	seed: number,
): { contain: number; covered: boolean }[] {
	const random = seededRandom(seed);
	const truth = trueShares();
	return Array.from({ length: runs }).flatMap(() => {
		const groups: SimilarVisitors[] = [];
		for (let visitor = 0; visitor < visitors; visitor++) {
			const { touches, convertedAtMs } = walk(0, random);
			const path = touches.map(({ label }) => label);
			groups.push({
				visitors: 1,
				converted: convertedAtMs === null ? [] : [path],
				lost: convertedAtMs === null ? path : null,
			});
		}
		const paths = groups.flatMap(({ converted }) => converted);
		const intervals = shareIntervals(groups, labels, random);
		return intervals.map((interval, label) => ({
			contain: paths.filter((path) => path.includes(label)).length,
			covered:
				interval !== undefined &&
				interval.low <= (truth[label] as number) &&
				(truth[label] as number) <= interval.high,
		}));
	});
}

if (import.meta.main) {
	const truth = [...trueShares()];
	const text = (shares: readonly number[]) =>
		shares.map((share) => (100 * share).toFixed(1).padStart(6)).join('');
	process.stdout.write(`truth, in %                             ${text(truth)}\n`);
	const runs = 20;
	for (const [name, options] of [
		['120 days, 12,000 visitors', { days: 120, visitors: 12_000 }],
		['120 days, the last 40', { days: 120, visitors: 12_000, fromDay: 80 }],
		['600 days, 60,000 visitors', { days: 600, visitors: 60_000 }],
	] as const)
		for (const rule of ['no lost paths', 'whole look-back', 'chance has passed'] as const) {
			const random = seededRandom(1);
			const made = Array.from({ length: runs }, () => sharesOf(rule, options, random));
			const mean = truth.map(
				(_, label) => made.reduce((sum, { shares }) => sum + (shares[label] as number), 0) / runs,
			);
			const error =
				made.reduce(
					(sum, { shares }) =>
						sum + Math.max(...truth.map((share, label) => Math.abs(share - (shares[label] as number)))),
					0,
				) / runs;
			process.stdout.write(
				`${`${name}, ${rule}`.padEnd(40)}${text(mean)}  worst error ${(100 * error).toFixed(1)} points, ${made[0]?.lost} lost, after ${made[0]?.afterDays.toFixed(1)} days\n`,
			);
		}
	for (const visitors of [60, 240, 1500]) {
		const all = coverage(visitors, 250, visitors);
		for (const label of truth.keys()) {
			const own = all.filter((_, place) => place % labels === label);
			const mean = own.reduce((sum, { contain }) => sum + contain, 0) / own.length;
			const of = (least: number) => {
				const some = own.filter(({ contain }) => contain >= least);
				const covered = some.filter((one) => one.covered).length;
				return some.length < 20 ? '-' : `${((100 * covered) / some.length).toFixed(1)} %`;
			};
			process.stdout.write(
				`${visitors} visitors, in ${mean.toFixed(1)} conversions: truth inside ${of(0)}; where it is in five or more, ${of(5)}\n`,
			);
		}
	}
}
