import { Option } from 'commander';
import { moment, wholeNumber } from '../config.ts';
import type { LiftJob, ResultOf, TrainingJob } from '../jobs/messages.ts';
import type { TrainedGoal } from '../scoring/judge/account-training.ts';
import { aidArgument } from './aid-argument.ts';
import { Command } from './command.ts';
import { type CommonOptions, printJson } from './output.ts';
import { writeOutputFile } from './output-file.ts';
import { type Progress, showProgress } from './progress.ts';

interface TrainOptions extends CommonOptions {
	readonly goal?: string;
	readonly asOf?: number;
	readonly seed: number;
	readonly report?: string;
	readonly verbose?: boolean;
	readonly lift?: string;
}

export function trainCommand(): Command {
	return new Command('train')
		.summary("train the models of an account's goals")
		.description(
			`Train a model for each goal of an account on its own history, for visitors and for single visits. Models are
judged on a later period than they learned from. Two lines tell how good each is, and whether it is in use; the report is
stored. A model that is better than the
base rate becomes active. Without one, everybody gets the base rate. 'caskade serve --train-every 6h' trains on schedule.

With --as-of, nothing later is used, as if the command had run then. If the active model has seen more, it stays active,
and 'caskade score AID --as-of TIME' uses the new one.

With --lift, train instead for whom being treated changes most, on an experiment that has ended.`,
		)
		.addArgument(aidArgument())
		.addOption(new Option('--goal <name>', 'only this goal; with --lift, instead of that of the experiment'))
		.addOption(
			new Option(
				'--as-of <time>',
				'use nothing later than this time, such as 2026-11-21 or 2026-11-21T10:30:00Z',
			).argParser(moment),
		)
		.addOption(
			new Option('--seed <number>', 'seed of random numbers; the same seed gives the same models')
				.default(1)
				.argParser(wholeNumber(0, 2 ** 31)),
		)
		.addOption(new Option('--verbose', 'print how the models were trained and judged'))
		.addOption(new Option('--report <file>', 'write the report as one HTML page, with charts'))
		.addOption(
			new Option('--lift <experiment>', 'train what being treated adds to the scores').conflicts([
				'asOf',
				'report',
			]),
		)
		.addCommonOptions()
		.action((aid: string, options: TrainOptions) =>
			options.lift === undefined
				? trainAndPrint(aid, options)
				: trainLiftAndPrint(aid, options.lift, options),
		);
}

async function trainAndPrint(aid: string, options: TrainOptions): Promise<void> {
	const asOfMs = options.asOf ?? Date.now();
	const trained = await trainWithProgress(aid, asOfMs, options);
	const { printTraining, trainingPage } = await import('./training-text.ts');
	const asOf = trained[0]?.report.asOf ?? new Date(asOfMs).toISOString();
	const printed = { aid, asOf, trained };
	if (options.report !== undefined)
		writeOutputFile(options.report, trainingPage(printed), 'The models are stored, but the report');
	if (options.json) printJson({ aid, asOf: new Date(asOfMs).toISOString(), goals: trained });
	else printTraining(printed, { verbose: options.verbose ?? false, reportFile: options.report });
}

async function trainLiftAndPrint(aid: string, experiment: string, options: TrainOptions): Promise<void> {
	const { goal, seed, json } = options;
	const trained = await computed({ type: 'lift', aid, experiment, goal, seed }, options);
	const { printTrainedLift } = await import('./training-text.ts');
	if (json) printJson({ aid, ...trained });
	else printTrainedLift(trained, options.verbose ?? false);
}

function trainWithProgress(
	aid: string,
	asOfMs: number,
	options: TrainOptions,
): Promise<readonly TrainedGoal[]> {
	const { goal, asOf, seed } = options;
	const about = { aid, goal, asOfMs, isOfNow: asOf === undefined, seed };
	return computed({ type: 'training', ...about, keepsChoice: false, isInBackground: false }, options);
}

async function computed<Job extends TrainingJob | LiftJob>(
	job: Job,
	{ database, stage, json }: TrainOptions,
): Promise<ResultOf<Job>> {
	const { compute } = await import('../jobs/compute.ts');
	const bar = (unit: string) => showProgress(process.stderr, unit, json ?? false);
	const bars: Readonly<Record<'read' | 'train', Progress>> = { read: bar('visitors'), train: bar('steps') };
	let step: 'read' | 'train' = 'read';
	try {
		return await compute({ database, stage }, job, {
			onProgress: (progress) => {
				if (progress.step !== step) bars[step].end();
				step = progress.step;
				bars[step].update(`${step} ${progress.what}`, progress.done, progress.total);
			},
		});
	} finally {
		bars[step].end();
	}
}
