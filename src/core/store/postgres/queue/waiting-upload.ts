import { monotonicMs } from '../../../clock.ts';
import type { Deadline } from '../../../deadline.ts';
import type { UploadOutcome } from '../../account/arriving/arriving-events.ts';
import type { Upload } from '../../serving.ts';
import type { WaitingWrite } from './postgres-write-queue.ts';

export interface WaitingUpload extends WaitingWrite {
	readonly upload: Upload;
	/** Milliseconds of `monotonicMs()`. */
	readonly deadlineMs: number;
	/** Decides the request for the commit; false if its deadline has decided first. */
	readonly tryCommit: () => boolean;
	/** Whether the deadline has decided. */
	readonly isExpired: () => boolean;
	readonly resolve: (outcome: UploadOutcome | 'expired') => void;
}

export function waitingUpload(
	accountId: number,
	upload: Upload,
	deadline: Deadline,
	{ resolve, reject }: Pick<PromiseWithResolvers<UploadOutcome | 'expired'>, 'resolve' | 'reject'>,
): WaitingUpload {
	let decision: 'commit' | 'expired' | undefined;
	const decide = (wish: 'commit' | 'expired') => {
		decision ??= wish;
		return decision === wish;
	};
	const isExpired = () => decision === 'expired' || (monotonicMs() >= deadline.atMs && decide('expired'));
	deadline.decideBy(() => {
		if (!decide('expired')) return false;
		resolve('expired');
		return true;
	});
	return {
		accountId,
		upload,
		deadlineMs: deadline.atMs,
		tryCommit: () => decide('commit'),
		isExpired,
		settleIfLate() {
			const expired = isExpired();
			if (expired) resolve('expired');
			return expired;
		},
		resolve,
		reject,
	};
}
