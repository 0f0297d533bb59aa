import { reasonOf } from '../../../core/errors.ts';
import type { BackgroundPart, BackgroundPlace } from '../../../kit/jobs/background-part.ts';
import { compute } from '../../../kit/jobs/compute.ts';
import { keepServedScores, type ServedScore } from '../store/served-scores.ts';
import { runScheduledTraining } from './scheduled-training.ts';

/** The same model comes from the same history, whenever it is trained. */
const scheduledSeed = 1;

/** Keeps the sample of served scores, follows what scores promise, and trains. */
export function followScores({ store, place, work, log, signal }: BackgroundPlace): BackgroundPart {
	/** One batch after another. What cannot be kept is missing from the sample. */
	let keeping = Promise.resolve();
	const train = ({ aid }: { readonly aid: string }, asOfMs: number) => {
		const job = { type: 'training', aid, asOfMs, isOfNow: true, seed: scheduledSeed } as const;
		return compute(place, { ...job, keepsChoice: true, isInBackground: true }, { signal });
	};
	const options = { everyMs: work.trainEveryMs, now: store.now, log, signal, train };
	return {
		running: work.keepsScores ? runScheduledTraining(store, options) : undefined,
		receive({ accountId, scores }: { accountId: number; scores: readonly ServedScore[] }) {
			keeping = keeping
				.then(() => store.transact(accountId, () => keepServedScores(scores)))
				.catch(async (error) => {
					if (await store.control.isAccountInUse(accountId).catch(() => false))
						log.error({ reason: `served scores are not kept: ${reasonOf(error)}` }, 'training failed');
				});
		},
		end: () => keeping,
	};
}
