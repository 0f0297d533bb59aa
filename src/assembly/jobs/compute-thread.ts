import { reasonOf, UnavailableError } from '../../core/errors.ts';
import { assembled } from '../../kit/assembled.ts';
import type { ComputeData } from '../../kit/jobs/compute-jobs.ts';
import { serveThread } from '../../kit/jobs/in-thread.ts';
import { yieldToServing } from '../../kit/jobs/yield-to-serving.ts';
import { openStore } from '../open-store.ts';

/** The thread of jobs, one at a time. It opens the databases itself, so that it works beside the serving process. */

serveThread(async ({ place, job }: ComputeData, onProgress) => {
	if (job.isInBackground) yieldToServing();
	const load = assembled('computeJobs')[job.type];
	if (!load) throw new Error(`there is no job ${job.type}`);
	const opening = openStore(place.database, { ...place, mustExist: true });
	const store = await opening.catch((error) => {
		// Whoever asked for a report asked for nothing wrong.
		throw job.type === 'report' ? new UnavailableError(reasonOf(error), { cause: error }) : error;
	});
	try {
		const run = await load();
		return await run(store, job as never, onProgress);
	} finally {
		// Before the answer: a job that is done keeps nothing open.
		await store.close();
	}
});
