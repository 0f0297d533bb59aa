import { Worker } from 'node:worker_threads';
import { reasonOf } from '../errors.ts';
import type { Log } from '../log.ts';
import type { TrainedGoal, TrainingProgress } from '../scoring/account-training.ts';
import { SupervisedThread } from './supervised-thread.ts';
import type { TrainingMessage, TrainingOrder } from './training-order.ts';

const threadFile = new URL('./training-thread.ts', import.meta.url);

/** Trains an account once, on a thread of its own. @throws OperatorError's message where it cannot be done */
export function trainOnThread(
	order: TrainingOrder,
	onProgress: (progress: TrainingProgress) => void,
): Promise<readonly TrainedGoal[]> {
	const thread = new Worker(threadFile, { workerData: order });
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
 * Trains all accounts on schedule, on a thread of its own. Does nothing without `trainEvery`.
 * @returns a function that ends it at once; what is not stored yet is left to the next server
 */
export function startTrainingThread(
	settings: { readonly database: string; readonly stage?: string; readonly trainEvery?: number },
	log: Log,
): () => Promise<void> {
	if (settings.trainEvery === undefined) return async () => {};
	const { database, stage, trainEvery } = settings;
	const order: TrainingOrder = { database, stage, job: { type: 'schedule', everyMs: trainEvery } };
	const thread = new SupervisedThread<TrainingMessage>({
		file: threadFile,
		workerData: order,
		onMessage: (message) => {
			if (message.type !== 'round') return;
			const { type, ...fields } = message.report;
			if (type === 'trained') log.info(fields, 'trained');
			else log.error(fields, 'training failed');
		},
		onDeath: (error) => log.error({ reason: reasonOf(error) }, 'training failed, starting again'),
	});
	return () => thread.stop();
}
