import { OperatorError } from '../../../core/errors.ts';
import { counted } from '../../../core/format/numbers.ts';
import { download } from '../../../kit/console/exchange.ts';
import { json } from '../../../kit/console/files.ts';
import { checkField, formOf } from '../../../kit/console/form.ts';
import { customerPath, searchPath, visitorPath } from '../../../kit/console/links.ts';
import { type AccountRequest, accountPage } from '../../../kit/console/page.ts';
import { nameOf } from '../../../kit/console/page-table.ts';
import { type Html, type HtmlValue, html } from '../../../kit/format/html.ts';
import { may } from '../../../kit/person.ts';
import { eraseOneCustomer } from '../acts.ts';
import { type Erasable, erasable } from '../store/erasure.ts';
import { exportedCustomer } from '../visitor-life.ts';

const shownVisitors = 40;

/** Everything of one customer, with or without visitors: for a request to see it, or to be forgotten. */
export const customerPage = accountPage({
	path: ':aid/customers/:cid',
	title: 'Customer',
	right: 'visitors',
	async get(asked) {
		const { account, person } = asked;
		const cid = cidOf(asked);
		const found = await erasable(asked.store, account.id, { cid });
		if (isNothing(found)) return { missing: nothingOf(cid) };
		await asked.note('customer viewed', cid);
		return html`<p>Stored about customer <strong>${nameOf(cid)}</strong>:</p>
${contents(asked, found, html`<li>${counted(found.events, 'subscription event')} with this customer id or of these visitors</li>`)}
<p><a href="${searchPath(account.aid, cid)}">The visitors and subscription events</a></p>
<section class="section"><h2>Everything stored</h2>
<p>For a request of this person to see their data: one JSON document, with every visitor, hit and event.</p>
${formOf(asked, 'export', null, 'Export')}
${may(person, account.aid, 'operate') && html`<p><a href="${customerPath(account.aid, cid)}/erase">Erase this customer</a></p>`}</section>`;
	},
	actions: {
		async export(asked) {
			const cid = cidOf(asked);
			const exported = await exportedCustomer(asked.store, asked.account, cid);
			await asked.note('customer exported', cid);
			return download(`${asked.account.aid}-customer.json`, json(exported));
		},
	},
});

/** What erasing a customer would change, and the button that does it. */
export const eraseCustomerPage = accountPage({
	path: ':aid/customers/:cid/erase',
	title: 'Erase a customer',
	right: 'operate',
	async get(asked) {
		const { store, account } = asked;
		const cid = cidOf(asked);
		const found = await erasable(store, account.id, { cid });
		const path = customerPath(account.aid, cid);
		if (isNothing(found)) return { missing: nothingOf(cid) };
		const { shared = [], events } = found;
		return html`<p>To be deleted of customer <strong>${nameOf(cid)}</strong>:</p>
${contents(asked, found)}
<p>Kept without visitor and customer id: ${counted(events, 'subscription event')}.</p>
${shared.length > 0 && html`<p class="warning">${counted(shared.length, 'visitor')} of these ${shared.length === 1 ? 'has' : 'have'} reported other customers, too. What belongs to those is split off first, and stays.</p>`}
<p>This takes effect within a second, and cannot be undone. Earlier backups still contain the data.</p>
${formOf(asked, 'erase', checkField('sure', 'Erase all of this', false), 'Erase the customer', { look: 'danger' })}
<p><a href="${path}">Cancel</a></p>`;
	},
	actions: {
		async erase(asked) {
			const { form } = asked;
			const cid = cidOf(asked);
			if (!form.has('sure'))
				throw new OperatorError('Tick “Erase all of this” to confirm. It cannot be undone.');
			const { vids, hits, visits, events } = await asked.act(eraseOneCustomer, { cid });
			return {
				once: html`<p class="warning" role="status">The customer is erased: ${counted(vids.length, 'visitor')}, ${counted(hits, 'hit')} of ${counted(visits, 'visit')}. Kept without visitor and customer id: ${counted(events, 'subscription event')}. Earlier backups still contain the data.</p>
<p><a href="/console/${asked.account.aid}/visitors">Back to the visitors</a></p>`,
			};
		},
	},
});

const cidOf = ({ parts }: AccountRequest) => parts.cid as string;

const nothingOf = (cid: string) =>
	html`<p class="empty">Nothing is stored about a customer ${nameOf(cid)}.</p>`;

function isNothing({ vids, events, links }: Erasable): boolean {
	return vids.length + events + links === 0;
}

function contents({ account }: AccountRequest, found: Erasable, more: HtmlValue = null): Html {
	const { vids, hits, visits, links } = found;
	const visitors = vids
		.slice(0, shownVisitors)
		.map((vid) => html` <a href="${visitorPath(account.aid, vid)}">${vid.slice(0, 12)}…</a>`);
	return html`<ul><li>${counted(vids.length, 'visitor')}${vids.length > 0 && html`:${visitors}`}${vids.length > shownVisitors && ' and others'}</li>
<li>${counted(hits, 'hit')} of ${counted(visits, 'visit')}, with profiles and touches</li>
<li>${counted(links, 'id')} of the customer and of transactions, reported by pages</li>${more}</ul>`;
}
