import type { TrainingProgress } from '../scoring/judge/account-training.ts';
import type { StorePlace } from '../store/store.ts';
import type { ComputeData, ComputeJob, ResultOf } from './messages.ts';
import { type JobOptions, runJob } from './run-job.ts';

/**
 * Does what takes seconds of CPU on a thread of its own, which opens the databases itself for each job.
 * @throws OperatorError where the job is impossible; the signal's reason
 */
export function compute<Job extends ComputeJob>(
	place: StorePlace,
	job: Job,
	options: JobOptions<TrainingProgress> = {},
): Promise<ResultOf<Job>> {
	const data: ComputeData = { place, job };
	return runJob(new URL('./compute-thread.ts', import.meta.url), job.type, data, options);
}
