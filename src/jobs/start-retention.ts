import { reasonOf } from '../errors.ts';
import type { Log } from '../log.ts';
import type { RetentionReport, RetentionSettings } from './retention.ts';
import { SupervisedThread } from './supervised-thread.ts';

/**
 * Prunes the hits of all accounts on a separate thread, because a batch would block the event loop of the serving thread.
 * Does nothing if hits are kept forever.
 * @returns a function that stops the thread after the current batch
 */
export function startRetention(settings: RetentionSettings, log: Log): () => Promise<void> {
	if (settings.keepHitsDays === undefined) return async () => {};
	const { database, stage, keepHitsDays, keepTouches = false } = settings;
	const thread = new SupervisedThread<RetentionReport>({
		file: new URL('./retention-thread.ts', import.meta.url),
		workerData: { database, stage, keepHitsDays, keepTouches },
		onMessage: ({ type, ...fields }) => {
			if (type === 'pruned') log.info(fields, 'pruned');
			else log.error(fields, 'retention failed');
		},
		onDeath: (error) => log.error({ reason: reasonOf(error) }, 'retention failed, starting again'),
	});
	return () => thread.stop('stop');
}
