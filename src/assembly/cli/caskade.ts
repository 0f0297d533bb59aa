import type { Command } from 'commander';
import { newestSchemas } from '../../core/store/migrations.ts';
import { commit, version } from '../../core/version.ts';
import { type Buildable, bare } from '../../kit/cli/command.ts';
import { runProgram } from '../../kit/cli/run-program.ts';

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

/** In the order of the help, each with the capability that it belongs to. A command is in the file of its name, and loads that alone. */
const capabilityOf: Readonly<Record<string, string>> = {
	account: 'accounts',
	client: 'accounts',
	plan: 'accounts',
	key: 'accounts',
	usage: 'accounts',
	events: 'history',
	export: 'history',
	goal: 'accounts',
	model: 'training',
	score: 'training',
	cask: 'accounts',
	visitor: 'visitors',
	import: 'history',
	report: 'reports',
	subscription: 'visitors',
	spend: 'history',
	upload: 'history',
	segment: 'accounts',
	experiment: 'experiments',
	webhook: 'webhooks',
	note: 'people',
	user: 'people',
	audit: 'people',
	train: 'training',
	backtest: 'training',
	backup: 'upkeep',
	restore: 'upkeep',
	copy: 'upkeep',
	migrate: 'upkeep',
	doctor: 'upkeep',
	status: 'upkeep',
	demo: 'demo',
};

const names = ['serve', ...Object.keys(capabilityOf)];

async function load(name: string): Promise<Command> {
	const file: Readonly<Record<string, Buildable>> =
		name === 'serve'
			? await import('./serve.ts')
			: await import(`../../capabilities/${capabilityOf[name]}/commands/${name}.ts`);
	return (file[`${name}Command`] as Buildable).build();
}

/** The command line, as Commander knows it, with the command of a name alone if there is one. */
export async function program(name = ''): Promise<Command> {
	const command = bare(
		'caskade',
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
	for (const each of names.includes(name) ? [name] : names) command.addCommand(await load(each));
	return command;
}

/** Runs a command line. */
export const run = (argv: readonly string[]): Promise<void> => runProgram(() => program(argv[2]), argv);
