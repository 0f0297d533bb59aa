import { OperatorError } from '../../../core/errors.ts';
import { command } from '../../../kit/cli/command.ts';
import { print, printLine, printTable, withStore } from '../../../kit/cli/output.ts';
import { showProgress } from '../../../kit/cli/progress.ts';
import { databaseAddress, jsonSetting, stageSetting } from '../../../kit/config.ts';
import { copyStore } from '../store/copy.ts';

export const copyCommand = command('copy', 'copy everything to another database, and verify it')
	.description(
		`Copy all clients, accounts, plans, keys, usage, events, hits and visitors to another database of either kind, for
example from a data folder to PostgreSQL. The target must be empty. Stop the servers first. To resume an interrupted
copy, run the same command again. At the end both sides are compared; only then can a server use the copy. The
data of the source stays as it is, but its tables are migrated to the newest schema.

To keep a password out of the command line, leave it out of the address, and set PGPASSWORD or write ~/.pgpass.

  caskade copy --from sqlite:./data --to postgres://user:password@host/database`,
	)
	.required('--from <address>', 'what to copy: sqlite:FOLDER or postgres://…', databaseAddress)
	.required('--to <address>', 'the empty target: sqlite:FOLDER or postgres://…', databaseAddress)
	.setting(...stageSetting)
	.setting(...jsonSetting)
	.action(async (options) => {
		if (options.from === options.to) throw new OperatorError('--from and --to are the same place.');
		const { from, to, stage, json = false } = options;
		const progress = showProgress(process.stderr, 'rows', json);
		const report = await withStore({ database: from, stage }, (source) =>
			withStore(
				{ database: to, stage },
				(target) =>
					copyStore(source, target, ({ step, aid, rows, totalRows }) =>
						progress.update(`${step} ${aid}`, rows, totalRows),
					).finally(() => progress.end()),
				{ create: true },
			),
		);
		print(options, report, () => {
			const { resumed, clients, plans, keys, accounts, events, hits } = report;
			printTable(accounts, 'No accounts.');
			printLine(
				`${resumed ? 'The interrupted copy is complete' : 'Everything is copied'} and compared: ${clients} clients, ${accounts.length} accounts, ${plans} plans, ${keys} keys, ${events} events, ${hits} hits.`,
			);
		});
	});
