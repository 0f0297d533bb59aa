import { may, type Person } from '../../domain/person.ts';
import { OperatorError } from '../../errors.ts';
import { html } from '../../format/html.ts';
import { displayName } from '../../format/values.ts';
import { redirect } from '../exchange.ts';
import { fieldOf } from '../form.ts';
import { viewPath } from '../links.ts';
import { accountPage } from '../page.ts';
import { nameOf, pageTable } from '../page-table.ts';
import { formOf } from './account.ts';

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
${pageTable(
	'Named views',
	['View…', 'Page', 'For', 'Remove'],
	views.map((view) => [
		html`<a href="${viewPath(account.aid, view)}">${nameOf(view.name)}</a>`,
		view.page || 'overview',
		view.isShared ? 'everybody' : 'you',
		(!view.isShared || mayShare(person, account.aid)) &&
			formOf(
				asked,
				'remove view',
				html`<input type="hidden" name="id" value="${view.id}">${view.isShared && html`<input type="hidden" name="shared" value="on">`}`,
				'Remove',
				'danger',
			),
	]),
)}`;
	},
	async post({ form, store, account, person, note, request }) {
		const isShared = form.has('shared');
		if (isShared && !mayShare(person, account.aid))
			throw new OperatorError('Views for everybody are for analysts; save it for yourself.');
		const personId = isShared ? null : person.id;
		if (form.get('action') === 'remove view') {
			const id = form.get('id') ?? '';
			await store.control.views.remove(account.id, personId, id);
			await note('view removed', id);
			return redirect(request.path);
		}
		if (form.get('action') !== 'save view')
			throw new OperatorError('The form names nothing that this page can do.');
		const name = fieldOf(form, 'name', 'Name', displayName);
		const page = form.get('page') ?? '';
		if (!/^[a-z]{0,30}$/.test(page)) throw new OperatorError('Page: It must be one of this account.');
		const query = new URLSearchParams(form.get('query') ?? '').toString();
		if (query.length > maxQueryLength) throw new OperatorError('The address is too long to be kept.');
		await store.control.views.save(account.id, personId, { name, page, query });
		await note('view saved', name);
		return redirect(viewPath(account.aid, { page, query }));
	},
});

function mayShare(person: Person, aid: string): boolean {
	return may(person, aid, 'visitors');
}
