import { reasonOf } from '../errors.ts';
import type { Log } from '../log.ts';
import type { FoldingReport, FoldingSettings } from './folding.ts';
import { SupervisedThread } from './supervised-thread.ts';

/** What a serving process has of the thread. */
export interface FoldingJob {
	/** Something waits in an account. */
	wake(accountId: number): void;
	/** Profiles and tasks that wait. */
	readonly waiting: number;
	/** Stops after the piece that is under way. */
	stop(): Promise<void>;
}

/** Starts a thread that does what waits, since a piece would hold up the answers of the serving thread. */
export function startFolding({ database, stage }: FoldingSettings, log: Log): FoldingJob {
	let waiting = 0;
	const thread = new SupervisedThread<FoldingReport>({
		file: new URL('./folding-thread.ts', import.meta.url),
		workerData: { database, stage },
		onMessage: (report) => {
			if (report.type === 'waiting') waiting = report.count;
			else log.error({ account: report.account, reason: report.reason }, 'folding failed');
		},
		onDeath: (error) => log.error({ reason: reasonOf(error) }, 'folding failed, starting again'),
	});
	return {
		wake: (accountId) => thread.post(accountId),
		get waiting() {
			return waiting;
		},
		stop: () => thread.stop('stop'),
	};
}
