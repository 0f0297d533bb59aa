import { Option } from 'commander';
import { refusing, Setting } from '../config.ts';
import { type ChannelRule, parseChannelRule, shownChannelRule } from '../domain/channel-rule.ts';
import { OperatorError } from '../errors.ts';
import { currencyCode } from '../format/money.ts';
import { accountToken, hostName, plainName, webOrigin } from '../format/values.ts';
import { calendarOf } from '../reports/calendar.ts';
import { renewalPeriods } from '../reports/report-query.ts';
import { historyExtent } from '../store/account/reading/histories.ts';
import { countVisitors } from '../store/account/reading/visitors.ts';
import type { Account, AccountSettings } from '../store/control/control-store.ts';
import { deleteAccount } from '../store/deletion.ts';
import { checkOwnDatabase } from '../store/own-database.ts';
import type { Store } from '../store/store.ts';
import { aidArgument } from './aid-argument.ts';
import { Command } from './command.ts';
import { confirm, requireTerminal } from './confirm.ts';
import {
	type CommonOptions,
	print,
	printJson,
	printRecord,
	printTable,
	withAccount,
	withStore,
} from './output.ts';

/** @param parse one value of a flag that may be repeated; false came before where its negation did */
function repeated<Value>(parse: (value: string) => Value) {
	const one = refusing(parse);
	return (value: string, earlier: readonly Value[] | false = []): Value[] => [...(earlier || []), one(value)];
}

function show(account: Account, options: CommonOptions): void {
	const { id: _, ...shown } = account;
	if (options.json) printJson(shown);
	else printRecord(readable(account));
}

/** The account as a table shows it. */
function readable({ id: _, ...account }: Account) {
	const rules = account.channelRules.map(shownChannelRule);
	const renewalDays = Object.entries(account.renewalDays).map((pair) => pair.join('='));
	return { ...account, channelRules: rules, renewalDays };
}

/** Negated flags are false. */
interface SettingFlags {
	readonly origin?: readonly string[] | false;
	readonly explain?: boolean;
	readonly experiments?: boolean;
	readonly channel?: readonly ChannelRule[] | false;
	readonly timezone?: string;
	readonly paymentProvider?: readonly string[] | false;
	readonly renewalDays?: AccountSettings['renewalDays'] | false;
	readonly currency?: string;
}

const settingOptions = () => [
	new Option('--origin <url...>', 'web origins whose pages may read scores (default: all)').argParser(
		repeated(webOrigin),
	),
	new Option('--explain', "let pages, and so everybody, read a score's reasons"),
	new Option(
		'--experiments',
		'let pages, and so everybody, read the group of an experiment that a visitor is in',
	),
	new Option(
		'--channel <name=pattern...>',
		'the channel of visits whose landing URL or referrer, without https://, matches the pattern; * is any text',
	).argParser(repeated(parseChannelRule)),
	new Option('--timezone <name>', 'time zone of days and months in reports, such as Europe/London'),
	new Option(
		'--payment-provider <host...>',
		'sites that take payments, besides the known ones: a return from one is not an arrival',
	).argParser(repeated(hostName)),
	new Option(
		'--renewal-days <evt=days...>',
		'days from one renewal to the next, such as newsletter=30, where reports should not learn them',
	).argParser((value: string, earlier: AccountSettings['renewalDays'] | false = {}) => ({
		...(earlier || {}),
		...refusing(renewalPeriods)(value),
	})),
	new Option(
		'--currency <code>',
		'what reports show amounts in, such as GBP; they are stored in its minor unit',
	).argParser(refusing(currencyCode)),
];

const negatedOptions = () => [
	new Option('--no-origin', 'pages of all origins may read scores'),
	new Option('--no-explain', 'do not show reasons'),
	new Option('--no-experiments', 'do not tell groups'),
	new Option('--no-channel', 'use only the built-in rules'),
	new Option('--no-payment-provider', 'use only the known payment sites'),
	new Option('--no-renewal-days', 'learn the days between renewals'),
];

/** The settings that flags name; those that are left out are left out. */
function settingsOf(flags: SettingFlags): Partial<AccountSettings> {
	const { origin, explain, experiments, channel, timezone, paymentProvider, renewalDays, currency } = flags;
	return {
		...(origin !== undefined && { origins: origin || [] }),
		...(explain !== undefined && { explains: explain }),
		...(experiments !== undefined && { tellsExperiments: experiments }),
		...(channel !== undefined && { channelRules: channel || [] }),
		...(timezone !== undefined && { timezone: calendarOf(timezone).timezone }),
		...(paymentProvider !== undefined && { paymentProviders: paymentProvider || [] }),
		...(renewalDays !== undefined && { renewalDays: renewalDays || {} }),
		...(currency !== undefined && { currency }),
	};
}

interface CreateOptions extends CommonOptions, SettingFlags {
	readonly client: string;
	readonly ownDatabase?: string;
}

async function createAccount(aid: string, options: CreateOptions): Promise<void> {
	const { client } = options;
	const ownDatabase = options.ownDatabase && checkOwnDatabase(options.ownDatabase);
	const account = { aid, client, ownDatabase, ...settingsOf(options) };
	await withStore(
		options,
		async (store) =>
			show(
				await store.control.createAccount(account, (id) => store.createAccountDatabase(id, ownDatabase)),
				options,
			),
		{ create: true },
	);
}

/** @returns undefined where the database is lost or damaged, which must not keep the account from being deleted */
async function countsOf(
	store: Store,
	accountId: number,
): Promise<Readonly<Record<'events' | 'hits' | 'visitors', number>> | undefined> {
	try {
		const { uploads: events, hits } = await store.read(accountId, historyExtent(Number.MAX_SAFE_INTEGER));
		return { events, hits, visitors: await store.read(accountId, countVisitors()) };
	} catch (error) {
		if (error instanceof OperatorError) throw error;
		return undefined;
	}
}

async function deleteAndPrint(aid: string, options: CommonOptions & { yes?: string }): Promise<void> {
	if (options.yes !== undefined && options.yes !== aid)
		throw new OperatorError(`--yes names ${options.yes}, but the account to delete is ${aid}.`);
	await withAccount(options, aid, async (store, { id }) => {
		if (options.yes === undefined) requireTerminal(`--yes ${aid}`);
		const counts = await countsOf(store, id);
		const what = counts
			? Object.entries(counts)
					.map((pair) => pair.join(' '))
					.join(', ')
			: 'a database that cannot be read';
		if (options.yes === undefined)
			await confirm(`${aid} would be deleted, with: ${what}. It cannot be undone.`, aid);
		await deleteAccount(store, aid);
		print(
			options,
			{ deleted: aid, ...counts },
			`Account ${aid} is deleted, with: ${what}. Backups and dumps from before still contain it: delete them, or keep them safe.`,
		);
	});
}

export function accountCommand(): Command {
	const command = new Command('account')
		.summary('create, update, list, disable, delete accounts')
		.description(
			"Manage accounts. Clients upload to accounts. Each has its own database, which other clients' keys cannot reach.",
		);
	const create = command
		.command('create')
		.summary('add an account, and its client if it is new')
		.description(
			`Add an account. The client is created if it does not exist. Both names have 1 to 64 letters, digits, dots,
			underscores and hyphens, and begin with a letter or a digit.`,
		)
		.addArgument(aidArgument().argParser(refusing(accountToken)))
		.requiredOption('--client <name>', 'the client that owns it', refusing(plainName))
		.addOption(
			new Setting(
				'--own-database <address>',
				'a PostgreSQL server for this account alone: postgres://…; use the variable, because the address contains a password',
			),
		);
	for (const option of settingOptions()) create.addOption(option);
	create.addCommonOptions().action(createAccount);
	const update = command
		.command('update')
		.summary('change origins, explanations, channels, time zone and renewals')
		.description(
			`Change an account. Options that are left out keep their value. A list replaces the previous one.

  caskade account update c-a-acme-uk --channel 'partner=*.partner.example/*' 'podcast=*?*utm_source=pod*'`,
		)
		.addArgument(aidArgument().argParser(refusing(accountToken)));
	for (const option of [...settingOptions(), ...negatedOptions()]) update.addOption(option);
	update
		.requireChange()
		.onStore(async (store, options: CommonOptions & SettingFlags, aid: string) =>
			show(await store.control.updateAccount(aid, settingsOf(options)), options),
		);
	command
		.command('list')
		.description('list accounts')
		.onStore(async (store, options) => {
			const accounts = await store.control.accounts();
			if (options.json) printJson(accounts.map(({ id: _, ...account }) => account));
			else
				printTable(
					accounts.map(readable),
					"No accounts yet. 'caskade account create AID --client NAME' creates one.",
				);
		});
	const setDisabled = (name: 'disable' | 'enable', description: string) =>
		command
			.command(name)
			.description(description)
			.addArgument(aidArgument().argParser(refusing(accountToken)))
			.onStore(async (store, options, aid: string) =>
				show(await store.control.setAccountDisabled(aid, name === 'disable'), options),
			);
	setDisabled('disable', 'refuse uploads to an account from now on; its data stays');
	setDisabled('enable', 'accept uploads to a disabled account again');
	command
		.command('delete')
		.summary('delete an account with all its data')
		.description(
			`Delete an account, its database and everything that is kept about it: events, visitors, goals, models, segments,
webhooks. It cannot be undone: the command says what there is, and asks for the account's name, unless --yes has it. Servers
may run; they refuse requests for the account first, which takes three seconds. Its client and its keys stay. Earlier
backups still contain the data.`,
		)
		.addArgument(aidArgument().argParser(refusing(accountToken)))
		.option('--yes <aid>', 'delete without asking; the name of the account again')
		.addCommonOptions()
		.action(deleteAndPrint);
	return command;
}
