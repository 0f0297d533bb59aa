import type { Capability } from '../../core/capability.ts';
import { type Experiment, endOf } from '../../core/domain/experiment-group.ts';
import { byAccount } from '../../core/store/control/snapshot.ts';
import {
	experimentStore,
	requireNoExperiment,
	selectExperimentRows,
	toExperiment,
} from './store/experiments.ts';

declare module '../../core/capability.ts' {
	interface ControlMembers extends ReturnType<typeof experimentStore> {}

	interface AccountMembers {
		/** Those that have not ended. */
		readonly experiments: readonly Experiment[];
	}
}

/** Segments that a share of visitors is held out of, to measure what serving them brings. */
export const experiments: Capability = {
	nouns: {
		members: experimentStore,
		tables: [
			{ name: 'experiment', isCopied: true, account: 'account_id' },
			{ name: 'experiment_read', isCopied: true, account: 'account_id' },
		],
		requireUnused: requireNoExperiment,
	},
	*ofAccounts(nowMs) {
		const rows = byAccount(yield* selectExperimentRows());
		return (accountId) => ({
			experiments: rows(accountId)
				.map(toExperiment)
				.filter((experiment) => nowMs < endOf(experiment)),
		});
	},
};
