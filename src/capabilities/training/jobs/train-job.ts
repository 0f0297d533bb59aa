import { OperatorError } from '../../../core/errors.ts';
import type { Store } from '../../../core/store/store.ts';
import { runJob } from '../../../kit/jobs/run-job.ts';
import { type TrainModel, trainAccount } from '../judge/account-training.ts';
import type { TrainedModel } from '../judge/train.ts';
import { learnCadences } from './cadences.ts';
import type { ModelJob, TrainingJob } from './training-jobs.ts';

/** Models of a training that somebody waits for: each takes a core. */
const modelsAtOnce = 2;

/** Trains the models of an account on the thread of jobs. */
export async function trainJob(
	store: Store,
	{ aid, goal, isInBackground, ...options }: TrainingJob,
	onProgress: (progress: unknown) => void,
) {
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

const trainOnThread: TrainModel = (dataset, { onProgress, ...options }) => {
	const job: ModelJob = { dataset, options };
	const file = new URL('./model-thread.ts', import.meta.url);
	return runJob<TrainedModel, number>(file, 'model', job, { onProgress, isKept: true });
};
