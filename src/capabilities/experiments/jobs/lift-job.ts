import { OperatorError } from '../../../core/errors.ts';
import type { PageReads } from '../../../core/store/serving.ts';
import type { Store } from '../../../core/store/store.ts';
import type { LiftJob } from '../../training/jobs/training-jobs.ts';
import { trainExperiment } from '../../training/judge/experiment-training.ts';
import { requireGoal } from '../../training/judge/model-versions.ts';
import { drawOf } from '../domain/draw.ts';
import { entrantsIn } from '../reports/experiment-entries.ts';
import { endOf } from '../store/experiment.ts';

/**
 * Learns from an experiment for whom being treated changes most, on the thread of jobs.
 * @throws OperatorError where visitors may still enter
 */
export async function liftJob(
	store: Store & PageReads,
	job: LiftJob,
	onProgress: (progress: unknown) => void,
) {
	const account = await store.control.account(job.aid);
	const experiment = await store.control.experiment(account.id, job.experiment);
	const goal = await requireGoal(store, account.id, job.goal ?? experiment.goal);
	const nowMs = store.now();
	if (nowMs < endOf(experiment))
		throw new OperatorError(
			`The experiment ${experiment.name} has not ended; 'caskade experiment stop ${account.aid} ${experiment.name}' ends it.`,
		);
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
		onProgress,
	});
}
