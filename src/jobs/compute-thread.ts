import { parentPort } from 'node:worker_threads';
import { drawOf, endOf } from '../domain/experiment.ts';
import { OperatorError, reasonOf } from '../errors.ts';
import type { TrainingProgress, TrainModel } from '../scoring/judge/account-training.ts';
import type { Trained } from '../scoring/judge/train.ts';
import { openStore } from '../store/open.ts';
import type { PageReads } from '../store/serving.ts';
import type { Store } from '../store/store.ts';
import { runJob } from './job-thread.ts';
import type {
	ComputeData,
	ComputeJob,
	ComputeMessage,
	LiftJob,
	ModelJob,
	ReportJob,
	ResultOf,
	TrainingJob,
} from './messages.ts';
import { yieldToServing } from './yield-to-serving.ts';

/** The thread of jobs, one at a time. It opens the databases itself, so that it works beside the serving process. */

if (!parentPort) throw new Error('this file is the thread of a job');
const port = parentPort;
/** Models of a training that somebody waits for: each takes a core. */
const modelsAtOnce = 2;

const send = (message: ComputeMessage) => port.postMessage(message);

async function makeReport(store: Store & PageReads, { account, query }: ReportJob): Promise<string> {
	const { runReport } = await import('../reports/run-report.ts');
	const { paymentProviders } = await import('../domain/touch.ts');
	return JSON.stringify(await runReport(store, account, query, paymentProviders));
}

async function train(store: Store, { aid, goal, isInBackground, ...options }: TrainingJob) {
	const { trainAccount } = await import('../scoring/judge/account-training.ts');
	const { learnCadences } = await import('./cadences.ts');
	const account = await store.control.account(aid);
	const goals = await store.control.goals(account.id);
	const chosen = goals.filter(({ name }) => goal === undefined || name === goal);
	if (goal !== undefined && chosen.length === 0)
		throw new OperatorError(`The account has no goal ${goal}; 'caskade goal list ${aid}' shows all.`);
	await learnCadences(store, account.id, store.now());
	const training = {
		...options,
		account,
		goals: chosen,
		onProgress: (progress: TrainingProgress) => send({ type: 'progress', progress }),
	};
	return isInBackground
		? trainAccount(store, training)
		: trainAccount(store, training, trainOnThread, modelsAtOnce);
}

async function trainOnExperiment(store: Store & PageReads, job: LiftJob) {
	const { requireEnded, trainExperiment } = await import('../scoring/judge/experiment-training.ts');
	const { requireGoal } = await import('../scoring/judge/model-versions.ts');
	const { entrantsIn } = await import('../reports/experiment-entries.ts');
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
		onProgress: (progress) => send({ type: 'progress', progress }),
	});
}

const trainOnThread: TrainModel = (dataset, { onProgress, ...options }) => {
	const thread = { file: new URL('./model-thread.ts', import.meta.url), name: 'model', isKept: true };
	return runJob<Trained, number>(thread, { dataset, options } satisfies ModelJob, { onProgress });
};

port.on('message', async ({ place, job }: ComputeData) => {
	if (job.isInBackground) yieldToServing();
	try {
		const store = await openStore(place.database, { ...place, mustExist: true });
		let result: ResultOf<ComputeJob>;
		try {
			result =
				job.type === 'report'
					? await makeReport(store, job)
					: job.type === 'lift'
						? await trainOnExperiment(store, job)
						: await train(store, job);
		} finally {
			// Before the answer: a job that is done keeps nothing open.
			await store.close();
		}
		send({ type: 'done', result });
	} catch (error) {
		send({ type: error instanceof OperatorError ? 'refused' : 'failed', reason: reasonOf(error) });
	}
});
