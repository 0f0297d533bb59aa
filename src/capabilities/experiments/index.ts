import { byAccount } from '../../core/store/control/snapshot.ts';
import type { Capability } from '../../kit/capability-declaration.ts';
import {
	type Experiment,
	endOf,
	experimentStore,
	requireNoExperiment,
	selectExperimentRows,
	toExperiment,
} from './store/experiment.ts';

declare module '../../core/capability.ts' {
	interface ControlMembers extends ReturnType<typeof experimentStore> {}

	interface AccountMembers {
		/** Those that have not ended. */
		readonly experiments: readonly Experiment[];
	}
}

/** Segments that a share of visitors is held out of, to measure what serving them brings. */
export const experiments: Capability = {
	name: 'experiments',
	nouns: {
		members: experimentStore,
		tables: [
			{ name: 'experiment', isCopied: true, account: 'account_id' },
			{ name: 'experiment_read', isCopied: true, account: 'account_id' },
		],
		async moments(control, accountId) {
			const all = await control.experiments(accountId);
			return all
				.flatMap((experiment) => [
					{ atMs: experiment.fromMs, text: `The experiment ${experiment.name} begins.` },
					{ atMs: endOf(experiment), text: `The experiment ${experiment.name} ends.` },
				])
				.filter(({ atMs }) => Number.isFinite(atMs));
		},
		requireUnused: requireNoExperiment,
	},
	*snapshot(nowMs) {
		const rows = byAccount(yield* selectExperimentRows());
		return {
			ofAccount: (accountId) => ({
				experiments: rows(accountId)
					.map(toExperiment)
					.filter((experiment) => nowMs < endOf(experiment)),
			}),
		};
	},
	commands: {
		experiment: async () => (await import('./commands/experiment-command.ts')).experimentCommand,
	},
	acts: {
		experiment: { verbs: ['create', 'stop'], isListed: true, load: () => import('./acts.ts') },
	},
	reports: {
		lift: async () => (await import('./reports/lift.ts')).liftReport,
	},
	async serving({ reader, counter }) {
		const { Withholding } = await import('./withholding.ts');
		return { hooks: { withholding: new Withholding(reader, counter) } };
	},
	async pages() {
		const { experimentsPage } = await import('./pages/experiments-page.ts');
		return { pages: [experimentsPage] };
	},
	jobs: {
		compute: { lift: async () => (await import('./jobs/lift-job.ts')).liftJob },
	},
};
