import { hourMs } from '../../core/durations.ts';
import type { Capability } from '../../kit/capability-declaration.ts';

/** Doctor, status, backup, restore, copy, migration, retention. */
export const upkeep: Capability = {
	name: 'upkeep',
	commands: {
		backup: async () => (await import('./commands/backup-command.ts')).backupCommand,
		restore: async () => (await import('./commands/restore-command.ts')).restoreCommand,
		copy: async () => (await import('./commands/copy-command.ts')).copyCommand,
		migrate: async () => (await import('./commands/migrate-command.ts')).migrateCommand,
		doctor: async () => (await import('./commands/doctor-command.ts')).doctorCommand,
		status: async () => (await import('./commands/status-command.ts')).statusCommand,
	},
	async pages() {
		const { systemPage } = await import('./pages/system.ts');
		return { pages: [systemPage] };
	},
	jobs: {
		async background({ store, work: { keepHitsDays, keepTouches = false }, log, signal }) {
			if (keepHitsDays === undefined) return undefined;
			const { runRetention } = await import('./jobs/retention-job.ts');
			const options = { keepHitsDays, keepTouches, everyMs: hourMs, now: store.now, log, signal };
			return { running: runRetention(store, options) };
		},
	},
};
