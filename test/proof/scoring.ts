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
import type { TrainingReport } from '../../src/scoring/report.ts';
import { Scorer } from '../../src/scoring/scorer.ts';
import { train } from '../../src/scoring/train.ts';
import { aheadSplit, sampleSplit } from './cdnow.ts';
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

export interface ProofLine {
	readonly name: string;
	readonly files: readonly string[];
	readonly split: () => Split;
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
		split: () => shoppersSplit(shoppers, task),
		baseline,
		drifts: false,
	})),
	{
		name: 'Shoppers, November and December',
		files: [shoppers],
		split: () =>
			shoppersSplit(shoppers, { without: ['PageValues'], tests: novemberAndDecember, rowOrder: true }),
		baseline: { auc: 0.712, logLoss: 0.476 },
		drifts: true,
	},
	{
		name: 'CDNOW sample, 39 weeks ahead',
		files: [master, sample],
		split: () => sampleSplit(master, sample),
		baseline: { auc: 0.783, logLoss: 0.48 },
		drifts: false,
	},
	{
		name: 'CDNOW all, 13 weeks ahead',
		files: [master],
		split: () => aheadSplit(master),
		baseline: { auc: 0.778, logLoss: 0.383 },
		drifts: true,
	},
	// The same CDNOW histories the long way round, through the commands import, train and score, belong here.
	...fixed.map(({ name, task, baseline }) => ({
		name: `${name}; row order as time`,
		files: [shoppers],
		split: () => shoppersSplit(shoppers, { ...task, rowOrder: true }),
		baseline,
		drifts: true,
		informative: true,
	})),
];

export interface ProofResult {
	readonly line: ProofLine;
	readonly report: TrainingReport;
	readonly calibration: string;
	readonly auc: Interval;
	readonly logLoss: number;
	readonly expectedCalibrationError: number;
	/** Where the line falls short, in words; empty where it does not. */
	readonly shortfalls: readonly string[];
	readonly seconds: number;
}

/** Trains and tests one line. */
export function prove(line: ProofLine): ProofResult {
	const { train: dataset, test } = line.split();
	const startedAtMs = performance.now();
	const { model, report } = train(dataset, { seed: 1 });
	const seconds = (performance.now() - startedAtMs) / 1000;
	const scorer = new Scorer(model);
	const labels = Uint8Array.from(test, ({ label }) => label);
	const scores = Float64Array.from(test, (example) => scorer.score(example));
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
	return {
		line,
		report,
		calibration: model.kind === 'prior' ? 'none' : model.calibration.kind,
		...measured,
		shortfalls,
		seconds,
	};
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
		const result = prove(line);
		const { value, low, high } = result.auc;
		process.stdout.write(
			row([
				line.name,
				result.report.kind,
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
			process.stdout.write(
				`${[...result.report.chosen, ...result.report.warnings].map((text) => `    ${text}\n`).join('')}`,
			);
		failed ||= !line.informative && result.shortfalls.length > 0;
	}
	process.stdout.write(
		`A line may be ${tolerance} worse than the better baseline in either figure, and its ECE is under ${worstCalibrationError} where nothing drifts.\n`,
	);
	process.exitCode = failed ? 1 : 0;
}
