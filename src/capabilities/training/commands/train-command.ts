import { noteDone } from '../../../kit/cli/act-command.ts';
import { aidText, command } from '../../../kit/cli/command.ts';
import { type CommonOptions, print, withStore } from '../../../kit/cli/output.ts';
import { writeOutputFile } from '../../../kit/cli/output-file.ts';
import { showProgress } from '../../../kit/cli/progress.ts';
import { moment } from '../../../kit/config.ts';
import { wholeNumber } from '../../../kit/format/values.ts';
import type { ComputeJobs } from '../../../kit/jobs/compute-jobs.ts';

interface TrainOptions extends CommonOptions {
	readonly goal?: string;
	readonly asOf?: number;
	readonly seed: number;
	readonly report?: string;
	readonly verbose?: boolean;
}

export const trainCommand = command('train', "train the models of an account's goals")
	.description(
		`Train a model for each goal of an account on its own history, for visitors and for single visits. Models are
judged on a later period than they learned from. Two lines say how good each is, and whether it is in use; the report is
stored. A model that is better than the
base rate becomes active. Without one, everybody gets the base rate. 'caskade serve --train-every 6h' trains on schedule.

With --as-of, nothing later is used, as if the command had run then. If the active model has seen more, it stays active,
and 'caskade score AID --as-of TIME' uses the new one.

With --lift, learn from an ended experiment which visitors treatment changes most.`,
	)
	.argument('<aid>', aidText)
	.option('--goal <name>', "only this goal; with --lift, this one instead of the experiment's")
	.option(
		'--as-of <time>',
		'use nothing later than this time, such as 2026-11-21 or 2026-11-21T10:30:00Z',
		moment,
	)
	.option(
		'--seed <number>',
		'seed of random numbers; the same seed gives the same models',
		wholeNumber(0, 2 ** 31),
		1,
	)
	.option('--verbose', 'print how the models were trained and judged')
	.option('--report <file>', 'write the report as one HTML page, with charts')
	.option('--lift <experiment>', 'learn from this experiment how much treatment changes the scores')
	.conflicts('asOf', 'report')
	.common()
	.action((options, _, aid) =>
		options.lift === undefined ? trainAndPrint(aid, options) : trainLiftAndPrint(aid, options.lift, options),
	);

async function trainAndPrint(aid: string, options: TrainOptions): Promise<void> {
	const { goal, seed, asOf: givenMs, verbose = false, report: reportFile } = options;
	const asOfMs = givenMs ?? Date.now();
	const about = { aid, goal, asOfMs, isOfNow: givenMs === undefined, seed };
	const job = { type: 'training', ...about, keepsChoice: false, isInBackground: false } as const;
	await noteTraining(aid, goal, options);
	const trained = await computed(job, options);
	const { printTraining } = await import('./training-text.ts');
	const now = new Date(asOfMs).toISOString();
	const printed = { aid, asOf: trained[0]?.report.asOf ?? now, trained };
	if (reportFile !== undefined) {
		const { trainingPage } = await import('../pages/training-page.ts');
		writeOutputFile(reportFile, trainingPage(printed), 'The models are stored, but the report');
	}
	print(options, { aid, asOf: now, goals: trained }, () => printTraining(printed, { verbose, reportFile }));
}

function noteTraining(aid: string, goal: string | undefined, options: TrainOptions): Promise<void> {
	return withStore(options, (store) => noteDone(store, 'training started', aid, goal ?? 'all goals'));
}

async function trainLiftAndPrint(aid: string, experiment: string, options: TrainOptions): Promise<void> {
	const { goal, seed, verbose = false } = options;
	await noteTraining(aid, experiment, options);
	const trained = await computed({ type: 'lift', aid, experiment, goal, seed }, options);
	const { printTrainedLift } = await import('./training-text.ts');
	print(options, { aid, ...trained }, () => printTrainedLift(trained, verbose));
}

async function computed<Type extends 'training' | 'lift'>(
	job: ComputeJobs[Type]['job'] & { readonly type: Type },
	{ database, stage, json = false }: TrainOptions,
): Promise<ComputeJobs[Type]['result']> {
	const { compute } = await import('../../../kit/jobs/compute.ts');
	const bar = (unit: string) => showProgress(process.stderr, unit, json);
	const bars = { read: bar('visitors'), train: bar('steps') };
	let step: keyof typeof bars = 'read';
	try {
		return await compute<Type>({ database, stage }, job, {
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
