import { hourMs } from '../../core/durations.ts';
import type { Capability } from '../../kit/capability.ts';

/** Doctor, status, backup, restore, copy, migration, retention. */
export const upkeep: Capability = {
	name: 'upkeep',
	commands: {
		backup: async () => (await import('./commands/backup.ts')).backupCommand,
		restore: async () => (await import('./commands/restore.ts')).restoreCommand,
		copy: async () => (await import('./commands/copy.ts')).copyCommand,
		migrate: async () => (await import('./commands/migrate.ts')).migrateCommand,
		doctor: async () => (await import('./commands/doctor.ts')).doctorCommand,
		status: async () => (await import('./commands/status.ts')).statusCommand,
	},
	async pages() {
		const { systemPage } = await import('./pages/system.ts');
		return { pages: [systemPage] };
	},
	jobs: {
		async background({ store, work: { keepHitsDays, keepTouches = false }, log, signal }) {
			if (keepHitsDays === undefined) return undefined;
			const { runRetention } = await import('./jobs/retention.ts');
			const options = { keepHitsDays, keepTouches, everyMs: hourMs, now: store.now, log, signal };
			return { running: runRetention(store, options) };
		},
	},
};
