import { type Command as CommanderCommand, CommanderError } from 'commander';
import { RuleError } from '../segments/rule-error.ts';
import { newestSchemas } from '../store/migrations.ts';
import { commit, version } from '../version.ts';
import { Command } from './command.ts';
import { handleBrokenPipe } from './output.ts';

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

/** Each command with its file, in the order of the help. A command loads its own file alone. */
const commands: Readonly<Record<string, () => Promise<CommanderCommand>>> = {
	serve: async () => (await import('./serve.ts')).serveCommand(),
	account: async () => (await import('./account.ts')).accountCommand(),
	client: async () => (await import('./client.ts')).clientCommand(),
	plan: async () => (await import('./plan.ts')).planCommand(),
	key: async () => (await import('./key.ts')).keyCommand(),
	usage: async () => (await import('./usage.ts')).usageCommand(),
	events: async () => (await import('./events.ts')).eventsCommand(),
	export: async () => (await import('./export.ts')).exportCommand(),
	goal: async () => (await import('./goal.ts')).goalCommand(),
	model: async () => (await import('./model.ts')).modelCommand(),
	score: async () => (await import('./score.ts')).scoreCommand(),
	cask: async () => (await import('./cask.ts')).caskCommand(),
	visitor: async () => (await import('./visitor.ts')).visitorCommand(),
	import: async () => (await import('./import.ts')).importCommand(),
	report: async () => (await import('./report.ts')).reportCommand(),
	subscription: async () => (await import('./subscription.ts')).subscriptionCommand(),
	spend: async () => (await import('./spend.ts')).spendCommand(),
	upload: async () => (await import('./upload.ts')).uploadCommand(),
	segment: async () => (await import('./segment.ts')).segmentCommand(),
	experiment: async () => (await import('./experiment.ts')).experimentCommand(),
	webhook: async () => (await import('./webhook.ts')).webhookCommand(),
	user: async () => (await import('./user.ts')).userCommand(),
	audit: async () => (await import('./audit.ts')).auditCommand(),
	train: async () => (await import('./train.ts')).trainCommand(),
	backtest: async () => (await import('./backtest.ts')).backtestCommand(),
	backup: async () => (await import('./backup.ts')).backupCommand(),
	copy: async () => (await import('./copy.ts')).copyCommand(),
	migrate: async () => (await import('./migrate.ts')).migrateCommand(),
	doctor: async () => (await import('./doctor.ts')).doctorCommand(),
	status: async () => (await import('./status.ts')).statusCommand(),
	demo: async () => (await import('./demo.ts')).demoCommand(),
};

/** The command line, as Commander knows it, with the command of a name alone if there is one. */
export async function program(name = ''): Promise<Command> {
	const command = new Command('caskade')
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
		.showHelpAfterError('(add --help for usage)');
	const all = Object.entries(commands);
	const named = all.filter(([each]) => each === name);
	for (const [, load] of named.length > 0 ? named : all) command.addCommand(await load());
	return command;
}

/** Runs a command line. An error goes to standard error as one sentence and sets the exit code to 1. */
export async function run(argv: readonly string[]): Promise<void> {
	handleBrokenPipe();
	try {
		await (await program(argv[2])).parseAsync([...argv]);
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
