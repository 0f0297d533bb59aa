import { type Html, html } from '../format/html.ts';
import { formOf, hiddenFields } from './form.ts';
import type { AccountRequest } from './page.ts';

/** A form for a note. From another page than that of notes, it leads back to the overview. */
export function noteForm(asked: AccountRequest): Html {
	const { request, account, calendar, now } = asked;
	const path = `/console/${account.aid}/notes`;
	const isHere = request.path === path;
	const fields = html`<p><label>Day <input type="date" name="day" value="${calendar.dayOf(now())}" required></label>
<label>Note <input name="text" maxlength="100" size="40" required></label></p>
${!isHere && hiddenFields({ back: request.query })}`;
	return html`<details class="section"${isHere && html` open`}><summary>Add a note</summary>
${formOf(asked, 'add note', fields, 'Add', { path })}
${!isHere && html`<p><a href="${path}">All notes</a></p>`}</details>`;
}
