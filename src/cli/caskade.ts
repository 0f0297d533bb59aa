import { CommanderError } from 'commander';
import { Command } from '../config.ts';
import { RuleError } from '../segments/rule-error.ts';
import { newestSchemas } from '../store/migrations.ts';
import { commit, version } from '../version.ts';
import { accountCommand } from './account.ts';
import { backtestCommand } from './backtest.ts';
import { backupCommand } from './backup.ts';
import { caskCommand } from './cask.ts';
import { clientCommand } from './client.ts';
import { copyCommand } from './copy.ts';
import { demoCommand } from './demo.ts';
import { doctorCommand } from './doctor.ts';
import { eventsCommand } from './events.ts';
import { exportCommand } from './export.ts';
import { goalCommand } from './goal.ts';
import { importCommand } from './import.ts';
import { keyCommand } from './key.ts';
import { migrateCommand } from './migrate.ts';
import { modelCommand } from './model.ts';
import { handleBrokenPipe } from './output.ts';
import { planCommand } from './plan.ts';
import { reportCommand } from './report.ts';
import { scoreCommand } from './score.ts';
import { segmentCommand } from './segment.ts';
import { serveCommand } from './serve.ts';
import { spendCommand } from './spend.ts';
import { statusCommand } from './status.ts';
import { subscriptionCommand } from './subscription.ts';
import { trainCommand } from './train.ts';
import { uploadCommand } from './upload.ts';
import { usageCommand } from './usage.ts';
import { visitorCommand } from './visitor.ts';
import { webhookCommand } from './webhook.ts';

/** For example `0.1.0 (commit 025c25a01234, schemas: control 9, accounts 9 on SQLite, 8 on PostgreSQL)`. */
function fullVersion(): string {
	const sqlite = newestSchemas('sqlite');
	const postgres = newestSchemas('postgres');
	const schemas = (['control', 'accounts'] as const).map((kind) => {
		const both = `${sqlite[kind]} on SQLite, ${postgres[kind]} on PostgreSQL`;
		return `${kind} ${sqlite[kind] === postgres[kind] ? sqlite[kind] : both}`;
	});
	return `${version} (${commit === undefined ? '' : `commit ${commit}, `}schemas: ${schemas.join(', ')})`;
}

/** The command line, as Commander knows it. */
export function program(): Command {
	return new Command('caskade')
		.description(
			`Caskade stores the subscription events that clients upload, durably and once.

A client owns accounts and API keys. Each account (c-a-acme-uk) has its own database. A key may write to the accounts
of its client. The limits of a key come from its usage plan.

To let a client upload:
  caskade account create c-a-acme-uk --client acme
  caskade key issue --client acme
  caskade serve

Commands may run while a server runs. Servers apply a change within a second.`,
		)
		.version(fullVersion())
		.configureHelp({ showGlobalOptions: true })
		.showHelpAfterError('(add --help for usage)')
		.addCommand(serveCommand())
		.addCommand(accountCommand())
		.addCommand(clientCommand())
		.addCommand(planCommand())
		.addCommand(keyCommand())
		.addCommand(usageCommand())
		.addCommand(eventsCommand())
		.addCommand(exportCommand())
		.addCommand(goalCommand())
		.addCommand(modelCommand())
		.addCommand(scoreCommand())
		.addCommand(caskCommand())
		.addCommand(visitorCommand())
		.addCommand(importCommand())
		.addCommand(reportCommand())
		.addCommand(subscriptionCommand())
		.addCommand(spendCommand())
		.addCommand(uploadCommand())
		.addCommand(segmentCommand())
		.addCommand(webhookCommand())
		.addCommand(trainCommand())
		.addCommand(backtestCommand())
		.addCommand(backupCommand())
		.addCommand(copyCommand())
		.addCommand(migrateCommand())
		.addCommand(doctorCommand())
		.addCommand(statusCommand())
		.addCommand(demoCommand());
}

/** Runs a command line. An error goes to standard error as one sentence and sets the exit code to 1. */
export async function run(argv: readonly string[]): Promise<void> {
	handleBrokenPipe();
	try {
		await program().parseAsync([...argv]);
	} catch (error) {
		if (error instanceof CommanderError) {
			process.exitCode = error.exitCode;
			return;
		}
		process.stderr.write(`caskade: ${sentence(error)}\n`);
		process.exitCode = 1;
	}
}

function sentence(error: unknown): string {
	const { code, path, message } = error as NodeJS.ErrnoException;
	if (code === 'ERR_SQLITE_ERROR')
		return `The data folder cannot be used (${message}). Run 'caskade doctor' to find the cause.`;
	if (code === 'ENOSPC') return 'The disk is full.';
	if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') return `No permission to use ${path}.`;
	if (code === 'ENOTDIR' || code === 'EEXIST') return `${path} is not a folder.`;
	// The message shows the place on lines of its own.
	if (error instanceof RuleError) return message;
	const [line = ''] = (message || String(error)).split('\n');
	return /[.!?]$/.test(line) ? line : `${line}.`;
}
