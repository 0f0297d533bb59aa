import { Argument, InvalidArgumentError } from 'commander';
import { Command, databaseOption, jsonOption, stageOption } from '../config.ts';
import type { Account } from '../store/control.ts';
import { checkOwnDatabase } from '../store/own-database.ts';
import { type CommonOptions, printJson, printRecord, printTable, withStore } from './output.ts';

function accountToken(value: string): string {
	if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(value))
		throw new InvalidArgumentError(
			'It must be 1 to 64 letters, digits, dots, underscores and hyphens, as c-a-acme-uk.',
		);
	return value;
}

/** A name that an operator gives to a client or a plan. */
export function plainName(value: string): string {
	if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(value))
		throw new InvalidArgumentError('It must be 1 to 64 letters, digits, dots, underscores and hyphens.');
	return value;
}

function webOrigin(value: string, earlier: string[] = []): string[] {
	const url = URL.parse(value);
	if (!url || url.origin !== value || !/^https?:$/.test(url.protocol))
		throw new InvalidArgumentError('It must be a web origin, as https://www.example.com, without a path.');
	return [...earlier, value];
}

const aidArgument = () => new Argument('<aid>', 'account token, as c-a-acme-uk').argParser(accountToken);

function show(account: Account, options: CommonOptions): void {
	const { id: _, ...shown } = account;
	if (options.json) printJson(shown);
	else printRecord(shown);
}

interface CreateOptions extends CommonOptions {
	readonly client: string;
	readonly origin?: string[];
	readonly ownDatabase?: string;
}

async function createAccount(aid: string, options: CreateOptions): Promise<void> {
	const { client, origin: origins = [] } = options;
	const ownDatabase = options.ownDatabase && checkOwnDatabase(options.ownDatabase);
	await withStore(
		options,
		async (store) =>
			show(
				await store.control.createAccount({ aid, client, origins, ownDatabase }, (id) =>
					store.createAccountDatabase(id, ownDatabase),
				),
				options,
			),
		{ create: true },
	);
}

export function accountCommand(): Command {
	const command = new Command('account')
		.summary('create, list, disable accounts')
		.description(
			'Accounts: what clients upload to. Each has a database of its own; a key of another client cannot reach it.',
		);
	command
		.command('create')
		.summary('add an account, and its client where there is none of that name')
		.description('Add an account. Its client is made where there is none of that name.')
		.addArgument(aidArgument())
		.requiredOption('--client <name>', 'the client that owns it', plainName)
		.option('--origin <url...>', 'web origins whose pages may read scores (default: all)', webOrigin)
		.option(
			'--own-database <address>',
			'a PostgreSQL server that has this account for itself: postgres://…; better said by CASKADE_OWN_DATABASE, since it holds a password',
		)
		.addOption(databaseOption())
		.addOption(stageOption())
		.addOption(jsonOption())
		.action((aid: string, options: CreateOptions) => createAccount(aid, options));
	command
		.command('list')
		.description('list accounts')
		.addOption(databaseOption())
		.addOption(stageOption())
		.addOption(jsonOption())
		.action((options: CommonOptions) =>
			withStore(options, async (store) => {
				const accounts = (await store.control.accounts()).map(({ id: _, ...account }) => account);
				if (options.json) printJson(accounts);
				else printTable(accounts, "No accounts yet; 'caskade account create AID --client NAME' makes one.");
			}),
		);
	const setDisabled = (name: 'disable' | 'enable', description: string) =>
		command
			.command(name)
			.description(description)
			.addArgument(aidArgument())
			.addOption(databaseOption())
			.addOption(stageOption())
			.addOption(jsonOption())
			.action((aid: string, options: CommonOptions) =>
				withStore(options, async (store) =>
					show(await store.control.setAccountDisabled(aid, name === 'disable'), options),
				),
			);
	setDisabled('disable', 'refuse uploads to an account from now on; its data stays');
	setDisabled('enable', 'accept uploads to a disabled account again');
	return command;
}
