import type { MigrationProgress } from '../store/maintenance.ts';
import { Command } from './command.ts';
import { printJson, printLine } from './output.ts';
import { showProgress } from './progress.ts';

export function migrateCommand(): Command {
	return new Command('migrate')
		.summary('migrate every database to the newest schema')
		.description(
			`Migrate the control database and every account's database to the newest schema, each in its own short transaction.
			Servers may keep running; they migrate a database themselves when they need it first. The command may be repeated, or
			run by several processes at once. A database that a newer Caskade has migrated is refused.`,
		)
		.onStore(async (store, options) => {
			const steps: Pick<MigrationProgress, 'database' | 'migrations'>[] = [];
			const progress = showProgress(process.stderr, 'databases', options.json ?? false);
			await store
				.migrate(({ database, migrations, done, total }) => {
					steps.push({ database, migrations });
					progress.update('migrate', done, total);
				})
				.finally(() => progress.end());
			if (options.json) return printJson(steps);
			const migrated = steps.filter(({ migrations }) => migrations > 0).length;
			printLine(`Every database has the newest schema; ${migrated} of ${steps.length} were migrated.`);
		});
}
