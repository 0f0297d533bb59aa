import { type Html, html } from '../format/html.ts';
import { may } from '../person.ts';
import { checkField, hiddenFields } from './form.ts';
import type { PageRequest } from './page.ts';

/** A form that keeps the address of the page under a name. */
export function saveViewForm({ request, account, person, formToken }: PageRequest): Html | null {
	if (!account) return null;
	const page = request.path.slice(`/console/${account.aid}/`.length);
	const path = `/console/${account.aid}/views`;
	return html`<details class="save"><summary>Save this view</summary>
<form method="post" action="${path}">
${hiddenFields({ token: formToken, action: 'save view', page, query: request.query })}
<p><label>Name of the view <input name="name" maxlength="60" required></label></p>
${may(person, account.aid, 'visitors') && checkField('shared', 'for everybody who sees this account', false)}
<button>Save</button> <a href="${path}">All views</a>
</form></details>`;
}
