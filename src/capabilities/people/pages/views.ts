import { OperatorError } from '../../../core/errors.ts';
import { html } from '../../../core/format/html.ts';
import { displayName } from '../../../core/format/values.ts';
import { redirect } from '../../../kit/console/exchange.ts';
import { fieldOf, formOf, hiddenFields } from '../../../kit/console/form.ts';
import { viewPath } from '../../../kit/console/links.ts';
import { type AskedOfAccount, accountPage } from '../../../kit/console/page.ts';
import { nameOf, pageTable } from '../../../kit/console/page-table.ts';
import { may } from '../../../kit/person.ts';

/** Of an address. */
const maxQueryLength = 2000;

/** Pages under a name, of a person or of the account. Each page of figures saves itself. */
export const viewsPage = accountPage({
	path: ':aid/views',
	title: 'Named views',
	right: 'aggregates',
	async get(asked) {
		const { store, account, person } = asked;
		const views = await store.control.views.list(account.id, person.id);
		if (views.length === 0)
			return html`<p class="empty">No views yet. Each page of figures has “Save this view”, which keeps its period, comparison and filters under a name.</p>`;
		return html`<p>A view is an address with its period, comparison and filters. It shows what there is now.</p>
${pageTable('Named views', views, {
	'View…': (view) => html`<a href="${viewPath(account.aid, view)}">${nameOf(view.name)}</a>`,
	Page: ({ page }) => page || 'overview',
	For: ({ isShared }) => (isShared ? 'everybody' : 'you'),
	Remove: ({ id, isShared }) =>
		(!isShared || mayShare(asked)) &&
		formOf(asked, 'remove view', hiddenFields({ id, ...(isShared && { shared: 'on' }) }), 'Remove', {
			look: 'danger',
		}),
})}`;
	},
	actions: {
		async 'remove view'(asked) {
			const id = asked.form.get('id') ?? '';
			await asked.store.control.views.remove(asked.account.id, ownerOf(asked), id);
			await asked.note('view removed', id);
		},
		async 'save view'(asked) {
			const { form, store, account, note } = asked;
			const owner = ownerOf(asked);
			const name = fieldOf(form, 'name', 'Name', displayName);
			const page = form.get('page') ?? '';
			if (!/^[a-z]{0,30}$/.test(page)) throw new OperatorError('Page: It must be one of this account.');
			const query = new URLSearchParams(form.get('query') ?? '').toString();
			if (query.length > maxQueryLength) throw new OperatorError('The address is too long to be kept.');
			await store.control.views.save(account.id, owner, { name, page, query });
			await note('view saved', name);
			return redirect(viewPath(account.aid, { page, query }));
		},
	},
});

/** Whose the view is that a form names; null for everybody's. */
function ownerOf(asked: AskedOfAccount): string | null {
	if (!asked.form.has('shared')) return asked.person.id;
	if (mayShare(asked)) return null;
	throw new OperatorError('Views for everybody are for analysts; save it for yourself.');
}

function mayShare({ person, account }: AskedOfAccount): boolean {
	return may(person, account.aid, 'visitors');
}
