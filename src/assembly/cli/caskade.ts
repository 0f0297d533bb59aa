import type { Command } from 'commander';
import { newestSchemas } from '../../core/store/migrations.ts';
import { commit, version } from '../../core/version.ts';
import { type Buildable, bare } from '../../kit/cli/command.ts';
import { runProgram } from '../../kit/cli/run-program.ts';
import { capabilities } from '../capabilities.ts';
import '../jobs/assemble-compute.ts';
import '../open-store.ts';

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

/** In the order of the help. Each loads its own module alone. */
const commands: Readonly<Record<string, () => Promise<Buildable>>> = Object.assign(
	{ serve: async () => (await import('./serve-command.ts')).serveCommand },
	...capabilities.map((capability) => capability.commands),
);

/** The command line, as Commander knows it, with the command of a name alone if there is one. */
export async function program(name = ''): Promise<Command> {
	const command = bare(
		'caskade',
		'',
		`Caskade joins what visitors do on a site with the subscription events that its back end uploads, tells pages how likely
their visitor is to subscribe, and reports which visits led to which subscriptions.

A client owns accounts and API keys. Each account (c-a-acme-uk) has its own database. A key may write to the accounts
of its client. The limits of a key come from its usage plan.

To try it:
  caskade serve --demo --open

To let a client upload:
  caskade account create c-a-acme-uk --client acme
  caskade key issue --client acme
  caskade serve

Commands may run while a server runs. Servers apply a change within a second. A running server has the documentation at
/docs/, where docs/how-to/install.md is the page /docs/how-to/install.`,
	).version(fullVersion());
	const asked = Object.hasOwn(commands, name) ? [commands[name]] : Object.values(commands);
	for (const load of asked) if (load) command.addCommand((await load()).build());
	return command;
}

/** Runs a command line. */
export const run = (argv: readonly string[]): Promise<void> => runProgram(() => program(argv[2]), argv);
