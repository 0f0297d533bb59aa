import { jsonOption, stageOption } from '../config.ts';
import { OperatorError } from '../errors.ts';
import { type CopyReport, copyStore } from '../store/copy.ts';
import { openStore } from '../store/open.ts';
import { Command } from './command.ts';
import { printJson, printLine, printTable } from './output.ts';
import { showProgress } from './progress.ts';

interface CopyOptions {
	readonly from: string;
	readonly to: string;
	readonly stage?: string;
	readonly json?: boolean;
}

export function copyCommand(): Command {
	return new Command('copy')
		.summary('copy everything to another database, and verify it')
		.description(
			`Copy all clients, accounts, plans, keys, usage, events, hits and visitors to another database of either kind, for
			example from a data folder to PostgreSQL. The target must be empty. Stop the servers first. To resume an interrupted
			copy, run the same command again. At the end both sides are compared; only then can a server use the copy. The
			data of the source stays as it is. Its tables are migrated to the newest schema, as by any command.

To keep a password out of the command line, leave it out of the address, and set PGPASSWORD or write ~/.pgpass.

  caskade copy --from sqlite:./data --to postgres://user:password@host/database`,
		)
		.requiredOption('--from <address>', 'what to copy: sqlite:FOLDER or postgres://…')
		.requiredOption('--to <address>', 'the empty target: sqlite:FOLDER or postgres://…')
		.addOption(stageOption())
		.addOption(jsonOption())
		.action(copy);
}

async function copy(options: CopyOptions): Promise<void> {
	if (options.from === options.to) throw new OperatorError('--from and --to are the same place.');
	const source = await openStore(options.from, { ...options, mustExist: true });
	try {
		const target = await openStore(options.to, options);
		try {
			const progress = showProgress(process.stderr, 'rows', options.json ?? false);
			const report = await copyStore(source, target, ({ step, aid, rows, totalRows }) =>
				progress.update(`${step} ${aid}`, rows, totalRows),
			).finally(() => progress.end());
			if (options.json) printJson(report);
			else show(report);
		} finally {
			await target.close();
		}
	} finally {
		await source.close();
	}
}

function show({ resumed, clients, plans, keys, accounts, events, hits }: CopyReport): void {
	printTable(accounts, 'No accounts.');
	printLine(
		`${resumed ? 'The interrupted copy is complete' : 'Everything is copied'} and compared: ${clients} clients, ${accounts.length} accounts, ${plans} plans, ${keys} keys, ${events} events, ${hits} hits.`,
	);
}
