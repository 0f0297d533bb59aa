/**
 * `npm run proof:scoring` trains models on real data and prints how well they predict unseen rows, compared with the
 * baselines in the data's README. `test/capabilities/training/real-data.test.ts` is the short form. With `--without NAME`, or `--without
 * each`, it prints what a mechanism of training gains; `--on TEXT` takes only histories with that in their name. With
 * `--emails FILE`, a copy of the MineThatData e-mail challenge, lift is proven, too.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import {
	auc,
	calibrationTable,
	type Estimate,
	expectedCalibrationError,
	logLoss,
} from '../../src/capabilities/training/fit/measure.ts';
import { train } from '../../src/capabilities/training/judge/train.ts';
import { Scorer } from '../../src/core/scoring/model/scorer.ts';
import { printAblations } from './ablation-table.ts';
import { type Aim, printAim, printAimHeader } from './aim.ts';
import { aheadSplit, sampleSplit } from './cdnow.ts';
import { type CdnowAccount, withCdnowAccount } from './cdnow-commands.ts';
import { liftAims } from './hillstrom.ts';
import {
	backtestsOfKinds,
	cdnowByCommand,
	cdnowSampleBacktests,
	longTailPromises,
} from './scoring-backtests.ts';
import { decisionAims, signallessAims } from './scoring-decisions.ts';
import { renewalAims } from './scoring-renewals.ts';
import { everyTenRows, novemberAndDecember, shoppersSplit } from './shoppers.ts';
import type { Split } from './split.ts';

const folder = join(import.meta.dirname, '../../../shared/data');
const shoppers = join(folder, 'online_shoppers_intention.csv');
const master = join(folder, 'CDNOW_master.txt');
const sample = join(folder, 'CDNOW_sample.txt');
/** The data files. A line cannot be proven without its files. */
export const files = { shoppers, master, sample } as const;

/** Maximum shortfall against the better baseline, in AUC and in log loss. */
const tolerance = 0.005;
const maxCalibrationError = 0.03;

interface Baseline {
	readonly auc: number;
	readonly logLoss: number;
}

/** The scores of unseen rows, and their labels. */
export interface Outcome {
	readonly labels: Uint8Array;
	readonly scores: Float64Array;
	readonly kind: string;
}

export interface ProofOptions {
	readonly seed: number;
	/** Trains on every n-th customer only, to be quicker. */
	readonly every?: number;
}

export interface ProofLine {
	readonly name: string;
	readonly files: readonly string[];
	readonly test: (options: ProofOptions) => Promise<Outcome>;
	/** The better of the README's baselines, for each figure separately. */
	readonly baseline: Baseline;
	/** Whether training and test are from different times, so that calibration cannot be promised. */
	readonly drifts: boolean;
	/** Printed for comparison only. */
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
		test: ({ seed }: ProofOptions) => trainOn(shoppersSplit(shoppers, task), seed),
		baseline,
		drifts: false,
	})),
	{
		name: 'Shoppers, November and December',
		files: [shoppers],
		test: ({ seed }) =>
			trainOn(
				shoppersSplit(shoppers, { without: ['PageValues'], tests: novemberAndDecember, rowOrder: true }),
				seed,
			),
		baseline: { auc: 0.712, logLoss: 0.476 },
		drifts: true,
	},
	{
		name: 'CDNOW sample, 39 weeks ahead',
		files: [master, sample],
		test: ({ seed }) => trainOn(sampleSplit(master, sample), seed),
		baseline: { auc: 0.783, logLoss: 0.48 },
		drifts: false,
	},
	{
		name: 'CDNOW all, 13 weeks ahead',
		files: [master],
		test: ({ seed, every = 1 }) => trainOn(aheadSplit(master, every), seed),
		baseline: { auc: 0.778, logLoss: 0.383 },
		drifts: true,
	},
	...fixed.map(({ name, task, baseline }) => ({
		name: `${name}; row order as time`,
		files: [shoppers],
		test: ({ seed }: ProofOptions) => trainOn(shoppersSplit(shoppers, { ...task, rowOrder: true }), seed),
		baseline,
		drifts: true,
		informative: true,
	})),
];

const byCommands = (account: CdnowAccount): ProofLine => ({
	name: 'CDNOW all, 13 weeks, by the commands',
	files: [master],
	test: ({ seed }) => account.scoreAhead(seed),
	baseline: { auc: 0.778, logLoss: 0.383 },
	drifts: true,
});

export interface ProofResult extends Outcome {
	readonly auc: Estimate;
	readonly logLoss: number;
	readonly expectedCalibrationError: number;
	/** The figures that miss their aim, in words. */
	readonly shortfalls: readonly string[];
}

/** Trains on one part of a split and scores the other. */
async function trainOn({ train: dataset, test }: Split, seed: number): Promise<Outcome> {
	const { model } = train(dataset, { seed });
	const scorer = new Scorer(model);
	return {
		labels: Uint8Array.from(test, ({ label }) => label),
		scores: Float64Array.from(test, (example) => scorer.score(example)),
		kind: model.kind,
	};
}

/** Trains and tests one line. */
export async function prove(line: ProofLine, options: ProofOptions): Promise<ProofResult> {
	const outcome = await line.test(options);
	const { labels, scores } = outcome;
	const measured = {
		auc: auc(labels, scores),
		logLoss: logLoss(labels, scores),
		expectedCalibrationError: expectedCalibrationError(calibrationTable(labels, scores)),
	};
	const shortfalls: string[] = [];
	if (measured.auc.value < line.baseline.auc - tolerance) shortfalls.push('AUC');
	if (measured.logLoss > line.baseline.logLoss + tolerance) shortfalls.push('log loss');
	if (!line.drifts && measured.expectedCalibrationError >= maxCalibrationError)
		shortfalls.push('calibration');
	return { ...outcome, ...measured, shortfalls };
}

/** For each seed, the shortfall against the baseline, and the calibration error. */
function aimsOf(line: ProofLine, results: readonly ProofResult[]): Aim[] {
	const { name, baseline, drifts, informative = false } = line;
	const kinds = [...new Set(results.map(({ kind }) => kind))].join(', ');
	return [
		{
			name: `${name}: AUC under ${baseline.auc}`,
			of: ({ auc: { value } }: ProofResult) => baseline.auc - value,
		},
		{
			name: `  (${kinds}) log loss over ${baseline.logLoss}`,
			of: (result: ProofResult) => result.logLoss - baseline.logLoss,
		},
	]
		.map(({ name, of }): Aim => ({ name, values: results.map(of), max: tolerance, informative }))
		.concat({
			name: '  calibration error',
			values: results.map((result) => result.expectedCalibrationError),
			max: maxCalibrationError,
			informative: informative || drifts,
		});
}

const seeds = [1, 2, 3, 4, 5];

async function* lineAims(): AsyncGenerator<Aim> {
	for (const line of lines) {
		const results: ProofResult[] = [];
		for (const seed of line.informative ? [1] : seeds) results.push(await prove(line, { seed }));
		yield* aimsOf(line, results);
	}
}

async function commandAims(): Promise<Aim[]> {
	return withCdnowAccount(master, async (account) => {
		const results: ProofResult[] = [];
		for (const seed of seeds) results.push(await prove(byCommands(account), { seed }));
		return [...aimsOf(byCommands(account), results), ...(await cdnowByCommand(account, master))];
	});
}

/** Aims are printed as they become known: some take minutes. */
const parts: Readonly<
	Record<string, (emails: string | undefined) => Iterable<Aim> | AsyncIterable<Aim> | Promise<Aim[]>>
> = {
	lines: lineAims,
	commands: commandAims,
	cuts: () => cdnowSampleBacktests(sample, seeds),
	kinds: () => backtestsOfKinds(seeds),
	promises: () => longTailPromises(seeds),
	renewals: () => renewalAims(seeds.slice(0, 3)),
	decisions: () => decisionAims(sample),
	signalless: signallessAims,
	lift(emails) {
		if (emails !== undefined) return liftAims(emails);
		process.stdout.write(
			'Lift is not proven: --emails FILE names a copy of the MineThatData e-mail challenge.\n',
		);
		return [];
	},
};

if (import.meta.main) {
	const missing = Object.values(files).filter((file) => !existsSync(file));
	if (missing.length > 0) throw new Error(`These data files are missing: ${missing.join(', ')}`);
	const { values, positionals } = parseArgs({
		options: {
			without: { type: 'string', multiple: true },
			on: { type: 'string' },
			emails: { type: 'string' },
		},
		allowPositionals: true,
	});
	if (values.without) await printAblations(files, values.without, values.on);
	else printAimHeader();
	for (const name of positionals.length > 0 ? positionals : values.without ? [] : Object.keys(parts)) {
		const startedUs = process.cpuUsage();
		const aims = parts[name]?.(values.emails);
		if (!aims) throw new Error(`There is no part ${name}; use one of ${Object.keys(parts).join(', ')}.`);
		for await (const aim of aims instanceof Promise ? await aims : aims)
			if (!printAim(aim)) process.exitCode = 1;
		const { user, system } = process.cpuUsage(startedUs);
		process.stdout.write(`  ${name}: ${Math.round((user + system) / 1e6)} s of CPU\n`);
	}
}
