import { Worker } from 'node:worker_threads';
import { reasonOf } from '../errors.ts';
import type { Log } from '../log.ts';
import type { TrainedGoal, TrainingProgress } from '../scoring/account-training.ts';
import { SupervisedThread } from './supervised-thread.ts';
import type { TrainingMessage, TrainingRequest } from './training-messages.ts';

const upkeepAfterMs = 15_000;

const threadFile = new URL('./training-thread.ts', import.meta.url);

/** Trains an account once, on a thread. @throws Error with an OperatorError's message where that is impossible */
export function trainOnThread(
	request: TrainingRequest,
	onProgress: (progress: TrainingProgress) => void,
): Promise<readonly TrainedGoal[]> {
	const thread = new Worker(threadFile, { workerData: request });
	return new Promise((resolve, reject) => {
		let trained: readonly TrainedGoal[] | undefined;
		thread.on('message', (message: TrainingMessage) => {
			if (message.type === 'progress') onProgress(message.progress);
			if (message.type === 'done') trained = message.trained;
		});
		thread.on('error', reject);
		thread.on('exit', () =>
			trained ? resolve(trained) : reject(new Error('The training thread has ended.')),
		);
	});
}

/**
 * Measures base rates and follows levels, and with `trainEvery` trains all accounts on schedule, on a thread.
 * @returns a function that ends the thread at once, and leaves unfinished work to the next server
 */
export function startTrainingThread(
	settings: { readonly database: string; readonly stage?: string; readonly trainEvery?: number },
	log: Log,
): () => Promise<void> {
	const { database, stage, trainEvery } = settings;
	const request: TrainingRequest = { database, stage, job: { type: 'schedule', everyMs: trainEvery } };
	const start = () =>
		new SupervisedThread<TrainingMessage>({
			file: threadFile,
			workerData: request,
			onMessage: (message) => {
				if (message.type !== 'round') return;
				const { type, ...fields } = message.report;
				if (type === 'trained') log.info(fields, 'trained');
				else if (type === 'level' && message.report.isOutside)
					log.warn(fields, 'observed rate is outside the predicted interval');
				else if (type === 'level') log.info(fields, 'level followed');
				else log.error(fields, 'training failed');
			},
			onDeath: (error) => log.error({ reason: reasonOf(error) }, 'training failed, starting again'),
		});
	if (trainEvery !== undefined) {
		const thread = start();
		return () => thread.stop();
	}
	// Not at once, because a server that has just started is busy.
	let thread: ReturnType<typeof start> | undefined;
	const timer = setTimeout(() => {
		thread = start();
	}, upkeepAfterMs).unref();
	return async () => {
		clearTimeout(timer);
		await thread?.stop();
	};
}
