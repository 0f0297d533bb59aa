import type { Capability } from '../../kit/capability-declaration.ts';

/** Trains models of goals, judges and follows them. */
export const training: Capability = {
	name: 'training',
	commands: {
		model: async () => (await import('./commands/model-command.ts')).modelCommand,
		score: async () => (await import('./commands/score-command.ts')).scoreCommand,
		train: async () => (await import('./commands/train-command.ts')).trainCommand,
		backtest: async () => (await import('./commands/backtest-command.ts')).backtestCommand,
	},
	acts: {
		model: { verbs: ['use'], isListed: true, load: () => import('./acts.ts') },
	},
	reports: {
		promises: async () => (await import('./reports/promises.ts')).promisesReport,
		threshold: async () => (await import('./reports/threshold.ts')).thresholdReport,
	},
	async serving({ background }) {
		if (!background) return {};
		const { ServedSample } = await import('./serve/served-sample.ts');
		const sample = new ServedSample({
			keep: (accountId, scores) => background.post('training', { accountId, scores }),
		});
		return { hooks: { sample }, stop: () => sample.stop() };
	},
	async pages() {
		const { modelsPage, scoresPage } = await import('./pages/scores.ts');
		return { pages: [scoresPage, modelsPage] };
	},
	jobs: {
		background: async (at) => (await import('./jobs/training-background.ts')).followScores(at),
		compute: {
			training: async () => (await import('./jobs/train-job.ts')).trainJob,
			outcomes: async () => (await import('./rule-outcomes.ts')).outcomesJob,
			distribution: async () => (await import('./serve/score-bands.ts')).distributionJob,
		},
	},
};
