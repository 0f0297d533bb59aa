import { type ChannelRule, parseChannelRule, shownChannelRule } from '../../../core/domain/channel-rule.ts';
import { type IdTrust, idTrusts } from '../../../core/domain/signed-id.ts';
import { OperatorError } from '../../../core/errors.ts';
import { currencyCode, decimalsOf } from '../../../core/format/currencies.ts';
import { counted } from '../../../core/format/numbers.ts';
import { accountToken, eventName, hostName, plainName, webOrigin } from '../../../core/format/values.ts';
import { countVisitors } from '../../../core/store/account/reading/visitors.ts';
import type { Account, AccountSettings } from '../../../core/store/control/control-store.ts';
import { checkOwnDatabase } from '../../../core/store/own-database.ts';
import type { OpenStore, Store } from '../../../core/store/store.ts';
import { commandLineUser } from '../../../kit/cli/act-command.ts';
import { aidText, command, type Declaration, group, merged, repeated } from '../../../kit/cli/command.ts';
import { confirm, requireTerminal } from '../../../kit/cli/confirm.ts';
import {
	type CommonOptions,
	print,
	printLine,
	printRecord,
	printTable,
	withStore,
} from '../../../kit/cli/output.ts';
import { historyExtent } from '../../../kit/reading/histories.ts';
import { calendarOf } from '../../../kit/reports/calendar.ts';
import { gracePeriods, renewalPeriods } from '../../../kit/reports/report-query.ts';
import { changeAccount, type Note } from '../store/account-changes.ts';
import { deleteAccount } from '../store/deletion.ts';
import { relabelledAmounts } from '../store/stored-amounts.ts';

const aidArgument = ['<aid>', aidText, accountToken] as const;

function show(account: Account, options: CommonOptions): void {
	const { id: _, ...shown } = account;
	print(options, shown, () => printRecord(readable(account)));
}

/** The account as a table shows it. */
function readable({ id: _, ...account }: Account) {
	const rules = account.channelRules.map(shownChannelRule);
	const renewalDays = Object.entries(account.renewalDays).map((pair) => pair.join('='));
	const graceDays = Object.entries(account.graceDays).map((pair) => pair.join('='));
	const currency = `${account.currency}, ${counted(decimalsOf(account.currency), 'decimal')}`;
	return { ...account, channelRules: rules, renewalDays, graceDays, currency };
}

function withSettings<Options, Given extends readonly unknown[]>(declared: Declaration<Options, Given>) {
	return declared
		.option(
			'--origin <url...>',
			'web origins whose pages may read scores (default: all)',
			repeated(webOrigin),
		)
		.option('--explain', "let pages, and so everybody, read a score's reasons")
		.option(
			'--experiments',
			'let pages, and so everybody, read the group of an experiment that a visitor is in',
		)
		.option(
			'--channel <name=pattern...>',
			'the channel of visits whose landing URL or referrer, without https://, matches the pattern; * is any text',
			repeated(parseChannelRule),
		)
		.option('--timezone <name>', 'time zone of days and months in reports, such as Europe/London')
		.option(
			'--payment-provider <host...>',
			'sites that take payments, besides the known ones: a return from one is not an arrival',
			repeated(hostName),
		)
		.option(
			'--renewal-days <evt=days...>',
			'days from one renewal to the next, such as newsletter=30, where reports should not learn them; never, such as lifetime=never, for what is paid once',
			merged(renewalPeriods),
		)
		.option(
			'--grace-days <evt=days...>',
			'how many days after its due day a renewal is in time, such as newsletter=21; until then it is past due, and not lost (default: half of the days between renewals, at most 30; in reports longer where payments came later)',
			merged(gracePeriods),
		)
		.option(
			'--cancellation-evt <evt>',
			'the event type that cancels a subscription: one of 0 pence ends it when it is due, and no renewal is expected',
			eventName,
		)
		.option(
			'--currency <code>',
			'what amounts are in, such as GBP; they are stored in its minor unit, as ISO 4217 has it',
			currencyCode,
		)
		.option(
			'--id-trust <standing>',
			"whose cid and tid in hits are believed. claimed: everybody's, for reports, but a page that shows one without a signature of your back end is not told what was uploaded before; signed: only those that have one; trusted: everybody's, so that whoever guesses one is taken for its customer. A new account is claimed",
			idTrusts,
		);
}

/** What the flags set. Negated ones are false. */
interface SettingFlags {
	readonly origin?: readonly string[] | false;
	readonly explain?: boolean;
	readonly experiments?: boolean;
	readonly channel?: readonly ChannelRule[] | false;
	readonly timezone?: string;
	readonly paymentProvider?: readonly string[] | false;
	readonly renewalDays?: AccountSettings['renewalDays'] | false;
	readonly graceDays?: AccountSettings['graceDays'] | false;
	readonly cancellationEvt?: string | false;
	readonly currency?: string;
	readonly idTrust?: IdTrust;
}

/** The settings that flags name; those that are left out are left out. */
function settingsOf(flags: SettingFlags): Partial<AccountSettings> {
	const {
		origin,
		explain,
		experiments,
		channel,
		timezone,
		paymentProvider,
		renewalDays,
		graceDays,
		cancellationEvt,
		currency,
		idTrust,
	} = flags;
	return {
		...(origin !== undefined && { origins: origin || [] }),
		...(explain !== undefined && { explains: explain }),
		...(experiments !== undefined && { tellsExperiments: experiments }),
		...(channel !== undefined && { channelRules: channel || [] }),
		...(timezone !== undefined && { timezone: calendarOf(timezone).timezone }),
		...(paymentProvider !== undefined && { paymentProviders: paymentProvider || [] }),
		...(renewalDays !== undefined && { renewalDays: renewalDays || {} }),
		...(graceDays !== undefined && { graceDays: graceDays || {} }),
		...(cancellationEvt !== undefined && { cancellationEvt: cancellationEvt || null }),
		...(currency !== undefined && { currency }),
		...(idTrust !== undefined && { idTrust }),
	};
}

const create = withSettings(
	command('create', 'add an account, and its client if it is new')
		.description(
			`Add an account. The client is created if it does not exist. Both names have 1 to 64 letters, digits, dots,
underscores and hyphens, and begin with a letter or a digit.`,
		)
		.argument(...aidArgument)
		.required('--client <name>', 'the client that owns it', plainName)
		.setting(
			'--own-database <address>',
			'a PostgreSQL server for this account alone: postgres://…; use the variable, because the address contains a password',
		),
)
	.common()
	.action(async (options, _, aid) => {
		// Checked before the store is opened, which may create it. No parser, because the error would repeat a password.
		const ownDatabase = options.ownDatabase && checkOwnDatabase(options.ownDatabase);
		const account = { aid, client: options.client, ownDatabase, ...settingsOf(options) };
		const create = async (store: OpenStore) =>
			show(
				await store.control.createAccount(account, (id) => store.createAccountDatabase(id, ownDatabase)),
				options,
			);
		await withStore(options, create, { create: true });
	});

const update = withSettings(
	command('update', 'change origins, explanations, channels, time zone, currency and renewals')
		.description(
			`Change an account. Options that are left out keep their value. A list replaces the previous one.

Where amounts are stored, --currency is refused: it converts nothing, so it would only call them by another name.
--relabel-amounts does that, where the name was wrong from the start.

  caskade account update c-a-acme-uk --channel 'partner=*.partner.example/*' 'podcast=*?*utm_source=pod*'`,
		)
		.argument(...aidArgument),
)
	.option('--no-origin', 'pages of all origins may read scores')
	.option('--no-explain', 'do not show reasons')
	.option('--no-experiments', 'do not tell groups')
	.option('--no-channel', 'use only the built-in rules')
	.option('--no-payment-provider', 'use only the known payment sites')
	.option('--no-renewal-days', 'learn the days between renewals')
	.option('--no-grace-days', 'how late a renewal may be is by the days between renewals')
	.option('--no-cancellation-evt', 'no event cancels a subscription')
	.option(
		'--relabel-amounts',
		'with --currency: amounts that are stored stay the numbers that they are, and were in this currency all along',
	)
	.requireChange()
	.onStore(async (store, options, aid) => {
		const { currency, relabelAmounts = false } = options;
		if (relabelAmounts && currency === undefined)
			throw new OperatorError('--relabel-amounts goes with --currency, which says what the amounts are in.');
		if (currency !== undefined && !relabelAmounts) {
			const relabelled = await relabelledAmounts(store, await store.control.account(aid), currency);
			if (relabelled !== undefined)
				throw new OperatorError(
					`${relabelled} If they were in ${currency} all along, add --relabel-amounts. Otherwise create another account for ${currency}. Nothing is changed.`,
				);
		}
		const note: Note = (action, about) =>
			store.control.audit.add({ who: commandLineUser(), action, aid, about: about ?? null });
		show(await changeAccount(store, aid, settingsOf(options), note), options);
	});

const list = command('list', 'list accounts').onStore(async (store, options) => {
	const accounts = await store.control.accounts();
	const shown = accounts.map(({ id: _, ...account }) => account);
	print(options, shown, () =>
		printTable(
			accounts.map(readable),
			"No accounts yet. 'caskade account create AID --client NAME' creates one.",
		),
	);
});

const identitySecret = command('identity-secret', 'show or replace the secret that signs ids')
	.description(
		`Show the secret with which your back end signs the customer and transaction ids that pages show; it is made when it is
first shown. Whoever has it can be any customer: keep it on a server. With --rotate there is a new one, and ids that are
signed with the previous one are believed for another 24 hours. If it has leaked, rotate twice. What it is for:
docs/trust.md.`,
	)
	.argument(...aidArgument)
	.option('--rotate', 'make another one')
	.onStore(async (store, options, aid) => {
		const { id } = await store.control.account(aid);
		const { rotate = false } = options;
		const secret = rotate
			? await store.control.rotateIdentitySecret(id)
			: await store.control.identitySecret(id);
		const action = `identity secret ${rotate ? 'rotated' : 'shown'}`;
		await store.control.audit.add({ who: commandLineUser(), action, aid });
		print(options, { aid, identitySecret: secret }, () => {
			printLine(secret);
		});
	});

const setDisabled = (name: string, text: string, isDisabled: boolean) =>
	command(name, text)
		.argument(...aidArgument)
		.onStore(async (store, options, aid) =>
			show(await store.control.setAccountDisabled(aid, isDisabled), options),
		);

const remove = command('delete', 'delete an account with all its data')
	.description(
		`Delete an account, its database and everything that is kept about it: events, visitors, goals, models, segments,
webhooks. It cannot be undone: the command says what there is, and asks for the account's name, unless --yes has it. Servers
may run; they refuse requests for the account first, which takes three seconds. Its client and its keys stay. Earlier
backups still contain the data.`,
	)
	.argument(...aidArgument)
	.option('--yes <aid>', 'delete without asking; the name of the account again')
	.onStore(async (store, options, aid) => {
		const { yes } = options;
		if (yes !== undefined && yes !== aid)
			throw new OperatorError(`--yes names ${yes}, but the account to delete is ${aid}.`);
		const { id } = await store.control.account(aid);
		if (yes === undefined) requireTerminal(`--yes ${aid}`);
		const counts = await countsOf(store, id);
		const what = counts
			? Object.entries(counts)
					.map((pair) => pair.join(' '))
					.join(', ')
			: 'a database that cannot be read';
		if (yes === undefined) await confirm(`${aid} would be deleted, with: ${what}. It cannot be undone.`, aid);
		await deleteAccount(store, aid);
		print(
			options,
			{ deleted: aid, ...counts },
			`Account ${aid} is deleted, with: ${what}. Backups and dumps from before still contain it: delete them, or keep them safe.`,
		);
	});

/** @returns undefined where the database is lost or damaged, which must not keep the account from being deleted */
async function countsOf(store: Store, accountId: number) {
	try {
		const { uploads: events, hits } = await store.read(accountId, historyExtent(Number.MAX_SAFE_INTEGER));
		return { events, hits, visitors: await store.read(accountId, countVisitors()) };
	} catch (error) {
		if (error instanceof OperatorError) throw error;
		return undefined;
	}
}

export const accountCommand = group(
	'account',
	'create, update, list, disable, delete accounts',
	"Manage accounts. Clients upload to accounts. Each has its own database, which other clients' keys cannot reach.",
	[
		create,
		update,
		list,
		identitySecret,
		setDisabled('disable', 'refuse uploads to an account from now on; its data stays', true),
		setDisabled('enable', 'accept uploads to a disabled account again', false),
		remove,
	],
);
