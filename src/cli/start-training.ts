import type { ServeSettings } from '../config.ts';
import type { Log } from '../log.ts';

/** Once on this machine, however many workers there are. */
export async function startTraining(settings: ServeSettings, log: Log): Promise<() => Promise<void>> {
	const training = await import('../jobs/training-worker.ts');
	return training.startTrainingThread(settings, log);
}
