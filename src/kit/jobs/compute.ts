import type { StorePlace } from '../../core/store/store.ts';
import { assembled } from '../assembled.ts';
import type { ComputeData, ComputeJobs } from './compute-jobs.ts';
import { type JobOptions, runJob } from './run-job.ts';

/**
 * Does what takes seconds of CPU on a thread of its own, which opens the databases itself for each job.
 * @throws OperatorError where the job is impossible; the signal's reason
 */
export function compute<Type extends keyof ComputeJobs>(
	place: StorePlace,
	job: ComputeJobs[Type]['job'] & { readonly type: Type },
	options: JobOptions<ComputeJobs[Type]['progress']> = {},
): Promise<ComputeJobs[Type]['result']> {
	const data: ComputeData = { place, job };
	return runJob(assembled('computeThread'), job.type, data, options);
}
