import type { BackgroundPart, BackgroundPlace } from '../../../kit/jobs/background-part.ts';
import { countMissing } from '../store/erasing-again.ts';
import { resumeErasure } from '../store/erasure.ts';
import { runSharedKeys } from './shared-keys-job.ts';

/** Goes on with erasures that were begun, tells of those that are missing, and looks for keys that too many share. */
export function followErasures({ store, work, log, signal }: BackgroundPlace): BackgroundPart {
	/** Who forgets to erase again after a restore reads it in the log of the start. */
	async function tellMissing(): Promise<void> {
		const erasures = await countMissing(store).catch(() => 0);
		if (erasures > 0) log.warn({ erasures }, "erasures are missing: run 'caskade visitor erase-again'");
	}
	return {
		running: Promise.all([tellMissing(), work.followsLog && runSharedKeys(store, { log, signal })]),
		resume: (accountId) => resumeErasure(store, accountId),
	};
}
