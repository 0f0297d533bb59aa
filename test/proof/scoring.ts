/**
 * `npm run proof:scoring`: trains on real data, and prints how well later or other rows are told, beside the baselines of
 * the data's README. `test/scoring/real-data.test.ts` is the short form.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
	auc,
	calibrationTable,
	expectedCalibrationError,
	type Interval,
	logLoss,
} from '../../src/scoring/measure.ts';
import { Scorer } from '../../src/scoring/scorer.ts';
import { train } from '../../src/scoring/train.ts';
import { aheadSplit, sampleSplit } from './cdnow.ts';
import { aheadByCommands } from './cdnow-commands.ts';
import { everyTenRows, novemberAndDecember, shoppersSplit } from './shoppers.ts';
import type { Split } from './split.ts';

const folder = join(import.meta.dirname, '../../../shared/data');
const shoppers = join(folder, 'online_shoppers_intention.csv');
const master = join(folder, 'CDNOW_master.txt');
const sample = join(folder, 'CDNOW_sample.txt');
/** Where the data is; a line whose files are absent cannot be proven. */
export const files = { shoppers, master, sample } as const;

/** How much worse than the better baseline a line may be, in AUC and in log loss. */
const tolerance = 0.005;
const worstCalibrationError = 0.03;

interface Baseline {
	readonly auc: number;
	readonly logLoss: number;
}

/** What a model has said of rows that it had not seen, and what became of them. */
export interface Outcome {
	readonly labels: Uint8Array;
	readonly scores: Float64Array;
	readonly kind: string;
	readonly calibration: string;
	/** What was chosen and why, in sentences. */
	readonly why: readonly string[];
}

export interface ProofLine {
	readonly name: string;
	readonly files: readonly string[];
	/** @param every where the data is more than a short form needs: what to learn from, one in so many */
	readonly test: (every?: number) => Promise<Outcome>;
	/** The better of the README's baselines, figure by figure. */
	readonly baseline: Baseline;
	/** Tested on other times than trained on: calibration cannot be promised there. */
	readonly drifts: boolean;
	/** Told for comparison; nothing is promised. */
	readonly informative?: boolean;
}

const all = { without: [], tests: everyTenRows, rowOrder: false };
const unleaked = { ...all, without: ['PageValues'] };
const live = { ...all, without: ['PageValues', 'BounceRates', 'ExitRates'] };

const fixed = [
	{ name: 'Shoppers, all 17 features', task: all, baseline: { auc: 0.937, logLoss: 0.221 } },
	{ name: 'Shoppers, without PageValues', task: unleaked, baseline: { auc: 0.789, logLoss: 0.361 } },
	{ name: 'Shoppers, what is known live', task: live, baseline: { auc: 0.763, logLoss: 0.375 } },
];

export const lines: readonly ProofLine[] = [
	...fixed.map(({ name, task, baseline }) => ({
		name,
		files: [shoppers],
		test: () => trainOn(shoppersSplit(shoppers, task)),
		baseline,
		drifts: false,
	})),
	{
		name: 'Shoppers, November and December',
		files: [shoppers],
		test: () =>
			trainOn(
				shoppersSplit(shoppers, { without: ['PageValues'], tests: novemberAndDecember, rowOrder: true }),
			),
		baseline: { auc: 0.712, logLoss: 0.476 },
		drifts: true,
	},
	{
		name: 'CDNOW sample, 39 weeks ahead',
		files: [master, sample],
		test: () => trainOn(sampleSplit(master, sample)),
		baseline: { auc: 0.783, logLoss: 0.48 },
		drifts: false,
	},
	{
		name: 'CDNOW all, 13 weeks ahead',
		files: [master],
		test: (every = 1) => trainOn(aheadSplit(master, every)),
		baseline: { auc: 0.778, logLoss: 0.383 },
		drifts: true,
	},
	{
		name: 'CDNOW all, 13 weeks, by the commands',
		files: [master],
		test: () => aheadByCommands(master),
		baseline: { auc: 0.778, logLoss: 0.383 },
		drifts: true,
	},
	...fixed.map(({ name, task, baseline }) => ({
		name: `${name}; row order as time`,
		files: [shoppers],
		test: () => trainOn(shoppersSplit(shoppers, { ...task, rowOrder: true })),
		baseline,
		drifts: true,
		informative: true,
	})),
];

export interface ProofResult extends Outcome {
	readonly auc: Interval;
	readonly logLoss: number;
	readonly expectedCalibrationError: number;
	/** Where the line falls short, in words; empty where it does not. */
	readonly shortfalls: readonly string[];
	readonly seconds: number;
}

/** Trains on one part of a split, and scores the other. */
async function trainOn({ train: dataset, test }: Split): Promise<Outcome> {
	const { model, report } = train(dataset, { seed: 1 });
	const scorer = new Scorer(model);
	return {
		labels: Uint8Array.from(test, ({ label }) => label),
		scores: Float64Array.from(test, (example) => scorer.score(example)),
		kind: model.kind,
		calibration: model.kind === 'prior' ? 'none' : model.calibration.kind,
		why: [...report.chosen, ...report.warnings],
	};
}

/** Trains and tests one line. */
export async function prove(line: ProofLine, every?: number): Promise<ProofResult> {
	const startedAtMs = performance.now();
	const outcome = await line.test(every);
	const seconds = (performance.now() - startedAtMs) / 1000;
	const { labels, scores } = outcome;
	const measured = {
		auc: auc(labels, scores),
		logLoss: logLoss(labels, scores),
		expectedCalibrationError: expectedCalibrationError(calibrationTable(labels, scores)),
	};
	const shortfalls: string[] = [];
	if (measured.auc.value < line.baseline.auc - tolerance) shortfalls.push('AUC');
	if (measured.logLoss > line.baseline.logLoss + tolerance) shortfalls.push('log loss');
	if (!line.drifts && measured.expectedCalibrationError >= worstCalibrationError)
		shortfalls.push('calibration');
	return { ...outcome, ...measured, shortfalls, seconds };
}

function row(cells: readonly string[]): string {
	const widths = [50, 11, 12, 22, 10, 11, 10, 7, 8];
	return `${cells.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join('')}\n`;
}

if (import.meta.main) {
	process.stdout.write(
		row(['', 'model', 'calibration', 'AUC (95 %)', 'baseline', 'log loss', 'baseline', 'ECE', 'seconds']),
	);
	let failed = false;
	for (const line of lines) {
		if (!line.files.every((file) => existsSync(file))) {
			process.stdout.write(row([line.name, 'skipped: the data is not there']));
			continue;
		}
		const result = await prove(line);
		const { value, low, high } = result.auc;
		process.stdout.write(
			row([
				line.name,
				result.kind,
				result.calibration,
				`${value.toFixed(4)} (${low.toFixed(3)}-${high.toFixed(3)})`,
				line.baseline.auc.toFixed(3),
				result.logLoss.toFixed(4),
				line.baseline.logLoss.toFixed(3),
				result.expectedCalibrationError.toFixed(3),
				result.seconds.toFixed(1),
				result.shortfalls.length > 0
					? `${line.informative ? 'below' : 'SHORT'}: ${result.shortfalls.join(', ')}`
					: '',
			]),
		);
		if (process.argv.includes('--why'))
			process.stdout.write(result.why.map((text) => `    ${text}\n`).join(''));
		failed ||= !line.informative && result.shortfalls.length > 0;
	}
	process.stdout.write(
		`A line may be ${tolerance} worse than the better baseline in either figure, and its ECE is under ${worstCalibrationError} where nothing drifts.\n`,
	);
	process.exitCode = failed ? 1 : 0;
}
