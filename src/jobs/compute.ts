import type { TrainingProgress } from '../scoring/judge/account-training.ts';
import type { StorePlace } from '../store/store.ts';
import { type JobOptions, runJob } from './job-thread.ts';
import type { ComputeData, ComputeJob, ResultOf } from './messages.ts';

/**
 * Does what takes seconds of CPU on a thread of its own, which opens the databases itself for each job.
 * @param options.isKept whether the thread waits for the next job
 * @throws OperatorError where the job is impossible; the signal's reason
 */
export function compute<Job extends ComputeJob>(
	place: StorePlace,
	job: Job,
	options: JobOptions<TrainingProgress> & { readonly isKept?: boolean } = {},
): Promise<ResultOf<Job>> {
	const file = new URL('./compute-thread.ts', import.meta.url);
	return runJob(
		{ file, name: job.type, isKept: options.isKept ?? false },
		{ place, job } satisfies ComputeData,
		options,
	);
}
