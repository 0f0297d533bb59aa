import { Command, databaseOption, jsonOption, stageOption } from '../config.ts';
import type { MigrationProgress } from '../store/store.ts';
import { type CommonOptions, printJson, printLine, withStore } from './output.ts';
import { showProgress } from './progress.ts';

export function migrateCommand(): Command {
	return new Command('migrate')
		.summary('bring every database to the newest schema')
		.description(
			`Bring the control database and every account's to the newest schema, each in a short transaction of its own.
Servers may run meanwhile; what they use first, they bring there themselves. Running it again, or in several processes
at once, does no harm. A database that a newer Caskade has used is refused.`,
		)
		.addOption(databaseOption())
		.addOption(stageOption())
		.addOption(jsonOption())
		.action((options: CommonOptions) =>
			withStore(options, async (store) => {
				const steps: Pick<MigrationProgress, 'database' | 'migrations'>[] = [];
				const progress = showProgress(process.stderr, 'databases', options.json ?? false);
				await store
					.migrate(({ database, migrations, done, total }) => {
						steps.push({ database, migrations });
						progress.update('migrate', done, total);
					})
					.finally(() => progress.end());
				if (options.json) return printJson(steps);
				const brought = steps.filter(({ migrations }) => migrations > 0).length;
				printLine(`Every database has the newest schema; ${brought} of ${steps.length} were brought to it.`);
			}),
		);
}
