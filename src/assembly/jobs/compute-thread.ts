import { drawOf } from '../../capabilities/experiments/domain/experiment.ts';
import type { ReportJob } from '../../capabilities/reports/report-runner.ts';
import type { LiftJob, ModelJob, TrainingJob } from '../../capabilities/training/jobs/training-jobs.ts';
import type { TrainModel } from '../../capabilities/training/judge/account-training.ts';
import type { Trained } from '../../capabilities/training/judge/train.ts';
import { endOf } from '../../core/domain/experiment-group.ts';
import { OperatorError, reasonOf, UnavailableError } from '../../core/errors.ts';
import type { PageReads } from '../../core/store/serving.ts';
import type { Store } from '../../core/store/store.ts';
import type { ComputeData, ComputeJob } from '../../kit/jobs/compute-jobs.ts';
import { serveThread } from '../../kit/jobs/in-thread.ts';
import { runJob } from '../../kit/jobs/run-job.ts';
import { yieldToServing } from '../../kit/jobs/yield-to-serving.ts';
import { openStore } from '../open.ts';

/** The thread of jobs, one at a time. It opens the databases itself, so that it works beside the serving process. */

type Tell = (progress: unknown) => void;

/** Models of a training that somebody waits for: each takes a core. */
const modelsAtOnce = 2;

async function makeReport(store: Store & PageReads, { account, query }: ReportJob): Promise<string> {
	const { runReport } = await import('../../capabilities/reports/run-report.ts');
	const { paymentProviders } = await import('../../core/domain/touch.ts');
	return JSON.stringify(await runReport(store, account, query, paymentProviders));
}

async function train(store: Store, { aid, goal, isInBackground, ...options }: TrainingJob, onProgress: Tell) {
	const { trainAccount } = await import('../../capabilities/training/judge/account-training.ts');
	const { learnCadences } = await import('../../capabilities/training/jobs/cadences.ts');
	const account = await store.control.account(aid);
	const goals = await store.control.goals(account.id);
	const chosen = goals.filter(({ name }) => goal === undefined || name === goal);
	if (goal !== undefined && chosen.length === 0)
		throw new OperatorError(`The account has no goal ${goal}; 'caskade goal list ${aid}' shows all.`);
	await learnCadences(store, account, store.now());
	const training = { ...options, account, goals: chosen, onProgress };
	return isInBackground
		? trainAccount(store, training)
		: trainAccount(store, training, trainOnThread, modelsAtOnce);
}

async function trainOnExperiment(store: Store & PageReads, job: LiftJob, onProgress: Tell) {
	const { requireEnded, trainExperiment } = await import(
		'../../capabilities/training/judge/experiment-training.ts'
	);
	const { requireGoal } = await import('../../capabilities/training/judge/model-versions.ts');
	const { entrantsIn } = await import('../../capabilities/experiments/reports/experiment-entries.ts');
	const account = await store.control.account(job.aid);
	const experiment = await store.control.experiment(account.id, job.experiment);
	const goal = await requireGoal(store, account.id, job.goal ?? experiment.goal);
	const nowMs = store.now();
	requireEnded(experiment, account, nowMs);
	const { entrants } = await entrantsIn(store, account, {
		rule: experiment.rule,
		goal,
		asOfMs: nowMs,
		period: { fromMs: experiment.fromMs, toMs: endOf(experiment) },
	});
	return trainExperiment(store, {
		account,
		goal,
		experiment,
		seed: job.seed,
		entrants: entrants.map(({ person, ...entrant }) => ({
			...entrant,
			isTreated: drawOf(experiment, person).group === 'treated',
		})),
		onProgress,
	});
}

const trainOnThread: TrainModel = (dataset, { onProgress, ...options }) => {
	const job: ModelJob = { dataset, options };
	const file = new URL('../../capabilities/training/jobs/model-thread.ts', import.meta.url);
	return runJob<Trained, number>(file, 'model', job, { onProgress, isKept: true });
};

function run(store: Store & PageReads, job: ComputeJob, onProgress: Tell) {
	if (job.type === 'report') return makeReport(store, job);
	if (job.type === 'lift') return trainOnExperiment(store, job, onProgress);
	return train(store, job, onProgress);
}

serveThread(async ({ place, job }: ComputeData, onProgress) => {
	if (job.isInBackground) yieldToServing();
	const opening = openStore(place.database, { ...place, mustExist: true });
	const store = await opening.catch((error) => {
		// Whoever asked for a report asked for nothing wrong.
		throw job.type === 'report' ? new UnavailableError(reasonOf(error), { cause: error }) : error;
	});
	try {
		return await run(store, job, onProgress);
	} finally {
		// Before the answer: a job that is done keeps nothing open.
		await store.close();
	}
});
