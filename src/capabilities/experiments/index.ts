import type { Capability } from '../../core/capability.ts';
import { deleteRows, selectRows } from '../../core/store/control/rows.ts';
import { byAccount } from '../../core/store/control/snapshot.ts';
import { type Experiment, endOf } from './domain/experiment.ts';
import { experimentStore, requireNoExperiment, toExperiment } from './store/experiments.ts';

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
		copiedTables: ['experiment', 'experiment_read'],
		async deleteAccount(transaction, { id }) {
			for (const table of ['experiment', 'experiment_read'] as const)
				await deleteRows(transaction, table, { account_id: id });
		},
		requireUnused: requireNoExperiment,
	},
	async ofAccounts(database, nowMs) {
		const rows = byAccount(await selectRows(database, 'experiment', {}, 'seq'));
		return (accountId) => ({
			experiments: rows(accountId)
				.map(toExperiment)
				.filter((experiment) => nowMs < endOf(experiment)),
		});
	},
};
