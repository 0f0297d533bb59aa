import { Command, databaseOption, jsonOption, stageOption } from '../config.ts';
import type { MigrationProgress } from '../store/store.ts';
import { type CommonOptions, printJson, printLine, withStore } from './output.ts';

export function migrateCommand(): Command {
	return new Command('migrate')
		.summary('bring every database to the newest schema')
		.description(
			`Bring the control database and every account's to the newest schema. A server does so itself when it starts;
this is for whoever wants it done before. Running it again, or in several processes at once, does no harm. A
database that a newer Caskade has used is refused.`,
		)
		.addOption(databaseOption())
		.addOption(stageOption())
		.addOption(jsonOption())
		.action((options: CommonOptions) =>
			withStore(options, async (store) => {
				const steps: MigrationProgress[] = [];
				await store.migrate((step) => {
					steps.push(step);
					if (!options.json && step.migrations > 0)
						printLine(`${step.database}: ${step.migrations} migrations`);
				});
				if (options.json) printJson(steps);
				else printLine('Every database has the newest schema.');
			}),
		);
}
