import type { TrainingProgress } from '../../capabilities/training/judge/account-training.ts';
import type { StorePlace } from '../../core/store/store.ts';
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
	return runJob(new URL('../../assembly/jobs/compute-thread.ts', import.meta.url), job.type, data, options);
}
