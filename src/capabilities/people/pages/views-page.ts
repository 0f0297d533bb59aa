import { actGiven, acting } from '../../../kit/console/act-form.ts';
import { redirect } from '../../../kit/console/exchange.ts';
import { formOf, hiddenFields } from '../../../kit/console/form.ts';
import { viewPath } from '../../../kit/console/links.ts';
import { type AccountRequest, accountPage } from '../../../kit/console/page.ts';
import { nameOf, sortedTable } from '../../../kit/console/page-table.ts';
import { html } from '../../../kit/format/html.ts';
import { may } from '../../../kit/person.ts';
import { removeSharedView, removeView, saveView, shareView } from '../acts/view-acts.ts';

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
		return html`<p>A view opens its page with the same period, comparison and filters, and with today's figures.</p>
${sortedTable(asked, 'Named views', views, {
	'View…': (view) => html`<a href="${viewPath(account.aid, view)}">${nameOf(view.name)}</a>`,
	Page: ({ page }) => page || 'overview',
	'Visible to': ({ isShared }) => (isShared ? 'everybody' : 'you'),
	Remove: ({ id, isShared }) =>
		(!isShared || mayShare(asked)) &&
		formOf(asked, 'remove view', hiddenFields({ id, ...(isShared && { shared: 'on' }) }), 'Remove', {
			look: 'danger',
		}),
})}`;
	},
	actions: {
		'remove view': acting(
			removeView,
			async ({ act, form }: AccountRequest) =>
				void (await act(form.has('shared') ? removeSharedView : removeView, { view: form.get('id') ?? '' })),
		),
		'save view': acting(saveView, async ({ act, form, account }: AccountRequest) => {
			const view = await act(form.has('shared') ? shareView : saveView, actGiven(saveView.takes, form));
			return redirect(viewPath(account.aid, view));
		}),
	},
});

function mayShare({ person, account }: AccountRequest): boolean {
	return may(person, account.aid, 'visitors');
}
