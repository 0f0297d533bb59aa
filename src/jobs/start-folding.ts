import { reasonOf } from '../errors.ts';
import type { Log } from '../log.ts';
import type { FoldingReport, FoldingSettings } from './folding.ts';
import { SupervisedThread } from './supervised-thread.ts';

/** The serving process's handle on the background job. */
export interface FoldingJob {
	/** Announces that an account has work waiting. */
	wake(accountId: number): void;
	/** Number of profiles and tasks waiting. */
	readonly waiting: number;
	/** Stops after the current batch. */
	stop(): Promise<void>;
}

/** The first look at all accounts may wait, so that it does not delay the start of the server. */
const startAfterMs = 1000;

/**
 * Runs the background job on its own thread, because a batch would block the event loop of the serving thread. The thread
 * starts when there is work, or a second later.
 */
export function startFolding({ database, stage }: FoldingSettings, log: Log): FoldingJob {
	let waiting = 0;
	let thread: SupervisedThread<FoldingReport> | undefined;
	let isStopping = false;
	const started = () => {
		clearTimeout(timer);
		thread ??= new SupervisedThread<FoldingReport>({
			file: new URL('./folding-thread.ts', import.meta.url),
			workerData: { database, stage },
			onMessage: (report) => {
				if (report.type === 'waiting') waiting = report.count;
				else log.error({ account: report.account, reason: report.reason }, 'folding failed');
			},
			onDeath: (error) => log.error({ reason: reasonOf(error) }, 'folding failed, starting again'),
		});
		return thread;
	};
	const timer = setTimeout(started, startAfterMs).unref();
	return {
		wake(accountId) {
			if (!isStopping) started().post(accountId);
		},
		get waiting() {
			return waiting;
		},
		async stop() {
			isStopping = true;
			clearTimeout(timer);
			await thread?.stop('stop');
		},
	};
}
