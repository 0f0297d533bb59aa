import { command } from '../../../kit/cli/command.ts';
import { print, printLine } from '../../../kit/cli/output.ts';
import { showProgress } from '../../../kit/cli/progress.ts';
import { unusableModels, unusableSentence } from '../../training/judge/model-versions.ts';

export const migrateCommand = command('migrate', 'migrate every database to the newest schema')
	.description(
		`Migrate the control database and every account's database to the newest schema, each in its own short transaction.
On PostgreSQL, servers may keep running, even those of the previous version. On a data folder, a server of an older version must
be stopped first, and the command refuses to begin beside one. Servers migrate a database when they first need it; most
commands refuse an older one. The command may be repeated, or run by several processes at once. A database that a newer Caskade has migrated is refused.`,
	)
	.onStore(
		async (store, options) => {
			const steps: { database: string; migrations: number; notice?: string | undefined }[] = [];
			const progress = showProgress(process.stderr, 'databases', options.json ?? false);
			await store
				.migrate(({ database, migrations, notice, done, total }) => {
					steps.push({ database, migrations, ...(notice && { notice }) });
					progress.update('migrate', done, total);
				})
				.finally(() => progress.end());
			const unusable = Map.groupBy(await unusableModels(store), ({ aid }) => aid);
			const migrated = steps.filter(({ migrations }) => migrations > 0).length;
			print(options, steps, () => {
				for (const { database, notice } of steps) if (notice) printLine(`${database}: ${notice}.`);
				printLine(`Every database has the newest schema; ${migrated} of ${steps.length} were migrated.`);
				for (const [aid, models] of unusable) printLine(`${aid}: ${unusableSentence(aid, models)}.`);
			});
		},
		{ olderSchema: 'migrate' },
	);
