import { parseChannelRule, shownChannelRule } from '../../../core/domain/channel-rule.ts';
import { idTrusts } from '../../../core/domain/signed-id.ts';
import { OperatorError } from '../../../core/errors.ts';
import { currencyCode, decimalsOf } from '../../../core/format/currencies.ts';
import { counted } from '../../../core/format/numbers.ts';
import {
	type Account,
	type AccountSettings,
	defaultSettings,
} from '../../../core/store/control/account-store.ts';
import { checkOwnDatabase } from '../../../core/store/own-database.ts';
import { act, actOfAll, type Field, type GivenFields } from '../../../kit/act.ts';
import { accountToken, eventName, hostName, plainName, webOrigin } from '../../../kit/format/values.ts';
import { listing } from '../../../kit/listing.ts';
import { forgetAllDays } from '../../../kit/reading/kept-days.ts';
import { calendarOf } from '../../../kit/reports/calendar.ts';
import { gracePeriods, renewalPeriods } from '../../../kit/reports/report-query.ts';
import { deleteAccountDatabase } from '../store/deletion.ts';
import { relabelledAmounts } from '../store/stored-amounts.ts';

/** Every setting of an account: its flag, its field, and how what is typed becomes its value. */
export const settingFields = {
	origins: {
		flag: '--origin <url...>',
		text: 'web origins whose pages may send hits and read scores (default: all)',
		parse: webOrigin,
		isOptional: true,
		negation: ['--no-origin', 'pages of all origins may read scores'],
		label: 'Origins',
		hint: 'Web origins whose pages may send hits and read scores, one on each line. Empty: all.',
	},
	explains: {
		flag: '--explain',
		text: "let pages, and so everybody, read a score's reasons",
		label: 'Pages, and so everybody, may read the reasons of scores',
		isOptional: true,
		negation: ['--no-explain', 'do not show reasons'],
	},
	tellsExperiments: {
		flag: '--experiments',
		text: 'let pages, and so everybody, read the group of an experiment that a visitor is in',
		label: 'Pages, and so everybody, may read in which group of an experiment a visitor is',
		isOptional: true,
		negation: ['--no-experiments', 'do not tell groups'],
	},
	channelRules: {
		flag: '--channel <name=pattern...>',
		text: 'the channel of visits whose landing URL or referrer, without https://, matches the pattern; * is any text',
		parse: parseChannelRule,
		isOptional: true,
		negation: ['--no-channel', 'use only the built-in rules'],
		label: 'Your own channels',
		hint: 'One on each line, such as partner=*.partner.example/*. A visit belongs to the channel whose pattern matches its landing URL or referrer, without https://. * is any text.',
	},
	timezone: {
		flag: '--timezone <name>',
		text: 'time zone of days and months in reports, such as Europe/London',
		parse: (text: string) => calendarOf(text).timezone,
		isOptional: true,
		label: 'Time zone',
		hint: 'Where days and months of reports begin, such as Europe/London.',
		suggestions: Intl.supportedValuesOf('timeZone'),
	},
	paymentProviders: {
		flag: '--payment-provider <host...>',
		text: 'sites that take payments, besides the known ones: a return from one is not an arrival',
		parse: hostName,
		isOptional: true,
		negation: ['--no-payment-provider', 'use only the known payment sites'],
		label: 'Payment sites',
		hint: 'Sites that take payments, besides the known ones, one on each line. Coming back from one is not counted as an arrival.',
	},
	renewalDays: {
		flag: '--renewal-days <evt=days...>',
		text: 'days from one renewal to the next, such as newsletter=30, if reports should not work them out; never, such as lifetime=never, for what is paid once',
		parse: renewalPeriods,
		isOptional: true,
		negation: ['--no-renewal-days', 'learn the days between renewals'],
		label: 'Days between renewals',
		hint: 'One on each line, such as newsletter=30, if reports should not work them out. lifetime=never is for what is paid once.',
	},
	graceDays: {
		flag: '--grace-days <evt=days...>',
		text: 'how many days after its due day a renewal still counts as in time, such as newsletter=21; during these it is past due, and not lost (default: half of the days between renewals, at most 30; reports wait longer where payments have come later)',
		parse: gracePeriods,
		isOptional: true,
		negation: ['--no-grace-days', 'derive the days of grace from the days between renewals'],
		label: 'Days of grace',
		hint: 'One on each line, such as newsletter=21: days for which a late payment still counts as in time.',
	},
	cancellationEvt: {
		flag: '--cancellation-evt <evt>',
		text: 'the event type that cancels a subscription: if such an event has 0 pence, the subscription ends on its next due day, and no renewal is expected',
		parse: eventName,
		isOptional: true,
		negation: ['--no-cancellation-evt', 'no event cancels a subscription'],
		label: 'Event type of cancellations',
		hint: 'An event of this type and 0 pence cancels a subscription at the end of the paid time. Empty: none.',
	},
	currency: {
		flag: '--currency <code>',
		text: 'what amounts are in, such as GBP; they are stored in its minor unit, as ISO 4217 has it',
		parse: currencyCode,
		isOptional: true,
		label: 'Currency',
		hint: 'The currency of all amounts. They are sent and stored in its smallest unit, such as pence.',
		suggestions: Intl.supportedValuesOf('currency'),
	},
	idTrust: {
		flag: '--id-trust <standing>',
		text: 'which cid and tid of hits are believed, see docs/how-to/trust.md. signed: those that your back end has signed; claimed: all, but pages are told of earlier uploads only for signed ones; trusted: all, so that whoever guesses an id is taken for its customer. New accounts start as claimed',
		choices: idTrusts,
		isOptional: true,
		label: 'Believe ids from pages',
		hint: 'Customer and transaction ids. signed: only those that your back end has signed. claimed: all, but only signed ones show a page what was uploaded before. trusted: all, so whoever guesses an id is taken for that customer.',
	},
} as const satisfies Readonly<Record<keyof AccountSettings, Field>>;

/** The settings of a new account, without the flags that take a setting away. */
export const firstSettingFields = Object.fromEntries(
	Object.entries(settingFields).map(([name, field]) => [name, { ...field, negation: undefined }]),
) as unknown as typeof settingFields;

/** What was given, without what was not; what was taken away is as in a new account. */
function settingsOf(given: GivenFields<typeof settingFields>): Partial<AccountSettings> {
	const { renewalDays, graceDays } = given;
	const settings = {
		...given,
		renewalDays: renewalDays && Object.assign({}, ...renewalDays),
		graceDays: graceDays && Object.assign({}, ...graceDays),
	};
	return Object.fromEntries(
		(Object.keys(settingFields) as (keyof AccountSettings)[])
			.filter((name) => settings[name] !== undefined)
			.map((name) => [name, settings[name] ?? defaultSettings[name]]),
	);
}

/** An account as its settings are typed. */
export function typedSettings(account: AccountSettings) {
	const pairs = (days: object) => Object.entries(days).map((pair) => pair.join('='));
	return {
		...account,
		channelRules: account.channelRules.map(shownChannelRule),
		renewalDays: pairs(account.renewalDays),
		graceDays: pairs(account.graceDays),
	};
}

/** An account as commands know it: its number is for the store alone. */
export function namedAccount({ id: _, ...account }: Account) {
	return account;
}

/** An account as tables show it. */
export function readableAccount(account: ReturnType<typeof namedAccount>) {
	const currency = `${account.currency}, ${counted(decimalsOf(account.currency), 'decimal')}`;
	return { ...account, ...typedSettings(account), currency };
}

const ofAccounts = { noun: 'account', right: 'administer', record: readableAccount } as const;

export const createAccount = actOfAll({
	...ofAccounts,
	verb: 'create',
	summary: 'add an account, and its client if it is new',
	isOfAll: true,
	takes: {
		aid: {
			flag: '<aid>',
			text: 'account token, for example c-a-acme-uk',
			parse: accountToken,
			label: 'Account',
			hint: 'A name of 1 to 64 letters, digits, dots, underscores or hyphens, such as c-a-acme-uk.',
		},
		client: {
			flag: '--client <name>',
			text: 'the client that owns it',
			parse: plainName,
			hint: 'The client that owns it. A new name creates the client.',
		},
		ownDatabase: {
			flag: '--own-database <address>',
			text: 'a PostgreSQL server for this account alone: postgres://…; use the variable, because the address contains a password',
			parse: checkOwnDatabase,
			isOptional: true,
			label: 'Database of its own',
			hint: 'A PostgreSQL server for this account alone, postgres://…. Empty: the shared one.',
		},
		...firstSettingFields,
	},
	run: async (control, { store }, { aid, client, ownDatabase, ...given }) =>
		namedAccount(
			await control.createAccount({ aid, client, ownDatabase, ...settingsOf(given) }, (id) =>
				store.createAccountDatabase(id, ownDatabase),
			),
		),
});

export const updateAccount = act({
	...ofAccounts,
	verb: 'update',
	summary: 'change origins, explanations, channels, time zone, currency and renewals',
	description: `Change an account. Options that are left out keep their value. A list replaces the previous one.

Where amounts are stored, --currency is refused: it converts nothing and would only relabel them.
--relabel-amounts does that, if the currency was wrong from the start.

  caskade account update c-a-acme-uk --channel 'partner=*.partner.example/*' 'podcast=*?*utm_source=pod*'`,
	right: 'operate',
	takes: {
		...settingFields,
		relabelAmounts: {
			flag: '--relabel-amounts',
			text: 'with --currency: stored amounts keep their numbers: they were in this currency all along',
		},
	},
	/** @returns the account as it was */
	async prepare({ store, account: { aid } }, { currency, relabelAmounts }) {
		if (relabelAmounts && currency === undefined)
			throw new OperatorError('--relabel-amounts goes with --currency, which says what the amounts are in.');
		const account = await store.control.account(aid);
		if (currency !== undefined && !relabelAmounts) {
			const relabelled = await relabelledAmounts(store, account, currency);
			if (relabelled !== undefined)
				throw new OperatorError(
					`${relabelled} If they were in ${currency} all along, add --relabel-amounts. Otherwise create another account for ${currency}. Nothing is changed.`,
				);
		}
		return account;
	},
	run: async (control, { account }, given) =>
		namedAccount(await control.updateAccount(account.aid, settingsOf(given))),
	about: (account, _, before) =>
		(Object.keys(settingFields) as (keyof AccountSettings)[])
			.filter((name) => JSON.stringify(account[name]) !== JSON.stringify(before[name]))
			.join(', ') || undefined,
	/** What is kept of days tells cancellations from other events. */
	finish: async ({ store, account }, { cancellationEvt }, before) => {
		if (cancellationEvt !== undefined && cancellationEvt !== before.cancellationEvt)
			await store.transact(account.id, forgetAllDays);
		return undefined;
	},
});

export const disableAccount = act({
	...ofAccounts,
	verb: 'disable',
	summary: 'refuse uploads to an account from now on; its data stays',
	takes: {},
	run: async (control, { account }) => namedAccount(await control.setAccountDisabled(account.aid, true)),
});

export const enableAccount = act({
	...ofAccounts,
	verb: 'enable',
	summary: 'accept uploads to a disabled account again',
	takes: {},
	run: async (control, { account }) => namedAccount(await control.setAccountDisabled(account.aid, false)),
});

/** The database goes first, once servers refuse requests for it: what is interrupted leaves the account disabled, and is repeated. */
export const deleteAccount = act({
	noun: 'account',
	verb: 'delete',
	summary: 'delete an account with all its data',
	right: 'administer',
	takes: {},
	async warning({ account: { aid } }) {
		return {
			what: `The account ${aid} would be deleted, with its events, visitors, goals, models, segments and webhooks.`,
			named: aid,
			name: aid,
		};
	},
	prepare: ({ store, account }) => deleteAccountDatabase(store, account.aid),
	run: (control, { account }) => control.deleteAccount(account.aid),
});

const ofSecret = {
	noun: 'account',
	right: 'operate',
	noForm: 'the secret is for a back end, and whoever has it can be any customer',
	noCommand: "'account identity-secret' is of both",
	takes: {},
} as const;

export const showIdentitySecret = act({
	...ofSecret,
	verb: 'show-identity-secret',
	done: 'identity secret shown',
	summary: 'show the secret that signs ids',
	run: async (control, { account: { id, aid } }) => ({
		aid,
		identitySecret: await control.identitySecret(id),
	}),
});

export const rotateIdentitySecret = act({
	...ofSecret,
	verb: 'rotate-identity-secret',
	done: 'identity secret rotated',
	summary: 'replace the secret that signs ids',
	run: async (control, { account: { id, aid } }) => ({
		aid,
		identitySecret: await control.rotateIdentitySecret(id),
	}),
});

export const accountList = listing({
	noun: 'account',
	summary: 'show an account and its settings',
	empty: () => '',
	read: async (_, account) => [namedAccount(account)],
});
