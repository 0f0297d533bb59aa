import type { Engine } from './options.ts';
import { median, whole } from './table.ts';

/** What one load of a second told. */
export interface Sample {
	readonly perSecond: number;
	/** CPU of a request, of all processes. */
	readonly cpuUs: number;
	/** The same by thread, and of PostgreSQL. */
	readonly threadsUs: ReadonlyMap<string, number>;
}

interface Sides<Value> {
	readonly before: Value;
	readonly 'before again': Value;
	readonly now: Value;
}

/** How two versions compare in one figure. Above 1, the present one is better. */
interface Ratio {
	/** The median over all pairs. */
	readonly ratio: number;
	readonly range: readonly [number, number];
	/** Half of the 95 % interval of such a ratio between servers of the same commit. */
	readonly noise: number;
	readonly before: number;
	readonly now: number;
}

export interface Comparison {
	readonly engine: Engine;
	readonly name: string;
	readonly throughput: Ratio;
	readonly cpu: Ratio;
	readonly threadsUs: {
		readonly before: ReadonlyMap<string, number>;
		readonly now: ReadonlyMap<string, number>;
	};
}

/** @param blocks with the samples of each side, which were taken in turns */
export function compareSides({
	engine,
	name,
	blocks,
}: {
	engine: Engine;
	name: string;
	blocks: readonly Sides<readonly Sample[]>[];
}): Comparison {
	const all = (side: keyof Sides<unknown>) => blocks.flatMap((block) => block[side]);
	const threads = (side: 'before' | 'now') => {
		const samples = all(side);
		const names = new Set(samples.flatMap(({ threadsUs }) => [...threadsUs.keys()]));
		return new Map(
			[...names].map((one) => [one, median(samples.map(({ threadsUs }) => threadsUs.get(one) ?? 0))]),
		);
	};
	return {
		engine,
		name,
		throughput: ratioOf(blocks, ({ perSecond }) => perSecond),
		cpu: ratioOf(blocks, ({ cpuUs }) => 1 / cpuUs),
		threadsUs: { before: threads('before'), now: threads('now') },
	};
}

function ratioOf(blocks: readonly Sides<readonly Sample[]>[], figure: (sample: Sample) => number): Ratio {
	const against = (side: 'before again' | 'now', block: Sides<readonly Sample[]>) =>
		median(block[side].map((sample, index) => figure(sample) / figure(block.before[index] as Sample)));
	const ofBlocks = blocks.map((block) => against('now', block));
	return {
		ratio: median(ofBlocks),
		range: [Math.min(...ofBlocks), Math.max(...ofBlocks)],
		noise: halfInterval(blocks.map((block) => Math.log(against('before again', block)))),
		before: median(blocks.flatMap(({ before }) => before.map(figure))),
		now: median(blocks.flatMap(({ now }) => now.map(figure))),
	};
}

/** Quantiles .975 of Student's t, by degrees of freedom from 1; beyond them the last one, which is a little too large. */
const quantiles = [12.71, 4.3, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23];

/** Half of the 95 % interval of a mean that is known to be 0. */
function halfInterval(values: readonly number[]): number {
	const deviation = Math.sqrt(values.reduce((sum, value) => sum + value ** 2, 0) / values.length);
	return (
		((quantiles[Math.min(values.length, quantiles.length) - 1] as number) * deviation) /
		Math.sqrt(values.length)
	);
}

function verdictOf({ ratio, noise }: Ratio): string {
	if (Math.abs(ratio - 1) <= noise) return 'the same';
	return ratio > 1 ? 'better' : 'WORSE';
}

/** The comparison as text. @param about.busy why nothing is judged */
export function describeComparison(
	comparisons: readonly Comparison[],
	{ commit, busy }: { commit: string; busy: string | undefined },
): string {
	const rows = comparisons.flatMap(({ engine, name, throughput, cpu, threadsUs }) => [
		rowOf(`${engine}, ${name}`, 'requests/s', throughput, whole, busy),
		rowOf('', 'CPU of a request', cpu, (perUs) => `${(1 / perUs).toFixed(1)} µs`, busy),
		['', ...threadsText(threadsUs)],
	]);
	const headings = ['', '', commit, 'now', 'ratio (of blocks)', 'noise', ''];
	const widths = headings.map((_, column) =>
		Math.max(
			...[headings, ...rows].filter(({ length }) => length > 2).map((row) => row[column]?.length ?? 0),
		),
	);
	const text = [headings, ...rows]
		.map((row) =>
			row.length === 2
				? `${' '.repeat((widths[0] ?? 0) + 2)}${row[1]}`
				: row
						.map((cell, column) => cell.padEnd(widths[column] ?? 0))
						.join('  ')
						.trimEnd(),
		)
		.join('\n');
	const explanation =
		'Ratios above 1 are in favour of now. Noise: how far servers of the same commit are from each other, 95 of 100 times.';
	if (busy) return `${text}\n\n${explanation}\nNot judged: ${busy}.`;
	return `${text}\n\n${explanation}`;
}

function rowOf(
	title: string,
	measure: string,
	ratio: Ratio,
	format: (value: number) => string,
	busy: string | undefined,
): string[] {
	const [low, high] = ratio.range;
	return [
		title,
		measure,
		format(ratio.before),
		format(ratio.now),
		`${ratio.ratio.toFixed(3)} (${low.toFixed(2)} to ${high.toFixed(2)})`,
		`± ${(ratio.noise * 100).toFixed(1)} %`,
		busy ? '' : verdictOf(ratio),
	];
}

function threadsText({ before, now }: Comparison['threadsUs']): string[] {
	const texts = [...now].map(
		([thread, us]) => `${thread} ${(before.get(thread) ?? 0).toFixed(1)} → ${us.toFixed(1)}`,
	);
	return [`CPU by thread, µs: ${texts.join(', ')}`];
}

/** A row of `bench/history.md`. */
export function historyLine(
	comparisons: readonly Comparison[],
	{ commit, now }: { commit: string; now: string },
): string {
	const texts = ['SQLite', 'PostgreSQL'].flatMap((engine) => {
		const own = comparisons.filter((one) => one.engine === engine);
		return own.length === 0
			? ['–']
			: [own.map(({ name, throughput }) => `${name} ${throughput.ratio.toFixed(2)}`).join(', ')];
	});
	const worst = Math.max(...comparisons.map(({ throughput }) => throughput.noise));
	const day = new Date().toISOString().slice(0, 10);
	return `| ${[day, now, commit, ...texts, `± ${(worst * 100).toFixed(0)} %`].join(' | ')} |\n`;
}
