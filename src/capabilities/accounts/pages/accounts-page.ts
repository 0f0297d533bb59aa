import type { Act } from '../../../kit/act.ts';
import { actFields, actGiven, acting, questionOf } from '../../../kit/console/act-form.ts';
import { redirect } from '../../../kit/console/exchange.ts';
import { formOf, hiddenFields } from '../../../kit/console/form.ts';
import type { ConsolePage, PageRequest } from '../../../kit/console/page.ts';
import { nameOf, sortedTable, timeOf } from '../../../kit/console/page-table.ts';
import { html } from '../../../kit/format/html.ts';
import { createAccount, deleteAccount, disableAccount, enableAccount } from '../acts/account-acts.ts';
import { deleteClient, disableClient, enableClient } from '../acts/client-acts.ts';

/** What every account and client of the installation is, those that are disabled included. */
export const accountsPage: ConsolePage = {
	path: 'accounts',
	title: 'Accounts and clients',
	menu: 'Accounts and clients',
	place: 15,
	right: 'administer',
	async get(asked) {
		const { control } = asked.store;
		const [accounts, clients] = await Promise.all([control.accounts(), control.clients()]);
		return html`${
			accounts.length === 0
				? html`<p class="empty">No accounts yet. Add the first one below.</p>`
				: sortedTable(asked, 'Accounts', accounts, {
						Account: ({ aid, disabledAt }) =>
							disabledAt === null ? html`<a href="/console/${aid}/">${nameOf(aid)}</a>` : nameOf(aid),
						Client: ({ client }) => nameOf(client),
						Created: ({ createdAt }) => timeOf(createdAt),
						Disabled: ({ disabledAt }) => disabledAt && timeOf(disabledAt),
						Collecting: ({ aid, disabledAt }) =>
							disabledAt === null
								? formOf(asked, 'disable', hiddenFields({ aid }), 'Stop collecting')
								: formOf(asked, 'enable', hiddenFields({ aid }), 'Collect again'),
						'Delete, with all data': ({ aid }) =>
							formOf(asked, 'delete', hiddenFields({ aid }), 'Delete', { look: 'danger' }),
					})
		}
<section class="section"><h2>Add an account</h2>
<p>Each account has its own database. Its settings can be changed later.</p>
${formOf(asked, 'create', actFields(firstFields), 'Add')}</section>
<section class="section"><h2>Clients</h2>
${sortedTable(asked, 'Clients', clients, {
	Client: ({ client }) => nameOf(client),
	'#Accounts': ({ accounts }) => accounts,
	'#Usable keys': ({ keys }) => keys,
	Collecting: ({ client, disabledAt }) =>
		disabledAt === null
			? formOf(asked, 'disable client', hiddenFields({ client }), 'Stop collecting')
			: formOf(asked, 'enable client', hiddenFields({ client }), 'Collect again'),
	'Delete (only without accounts and keys)': ({ client }) =>
		formOf(asked, 'delete client', hiddenFields({ client }), 'Delete', { look: 'danger' }),
})}</section>`;
	},
	actions: {
		create: acting(createAccount, async (asked: PageRequest) => {
			const { aid } = await asked.act(createAccount, actGiven(createAccount.takes, asked.form));
			return redirect(`/console/${aid}/settings`);
		}),
		disable: ofAccount(disableAccount),
		enable: ofAccount(enableAccount),
		delete: ofAccount(deleteAccount),
		'disable client': ofClient(disableClient),
		'enable client': ofClient(enableClient),
		'delete client': ofClient(deleteClient),
	},
	questions: {
		async delete(asked) {
			const accounts = await asked.store.control.accounts();
			const account = accounts.find(({ aid }) => aid === asked.form.get('aid'));
			// The act says that there is none.
			return account && questionOf(deleteAccount, { ...asked, account }, {});
		},
	},
};

const { aid, client, ownDatabase, timezone, currency } = createAccount.takes;
const firstFields = { aid, client, timezone, currency, ownDatabase };

/** The account that a form names, disabled or not. */
const accountOf = ({ store, form }: PageRequest) => store.control.account(form.get('aid') ?? '');

function ofAccount<Result>(of: Act<(typeof disableAccount)['takes'], Result>) {
	return acting(of, async (asked: PageRequest) => void (await asked.act(of, {}, await accountOf(asked))));
}

function ofClient<Result>(of: Act<(typeof disableClient)['takes'], Result, undefined>) {
	const given = ({ form }: PageRequest) => ({ client: form.get('client') ?? '' });
	return acting(of, async (asked: PageRequest) => void (await asked.act(of, given(asked))));
}
