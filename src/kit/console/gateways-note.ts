import { leftOutText } from '../../core/domain/mail-gateways.ts';
import { type HtmlValue, html } from '../format/html.ts';
import type { AccountRequest } from './page.ts';
import { includeOf } from './view.ts';

/** Says beside a figure how many mail gateways it leaves out. The link counts them, or leaves them out again. */
export function gatewaysNote({ request, query, view }: AccountRequest, visitors: number): HtmlValue {
	const others = [...query].filter(([name]) => name !== 'include');
	const path = (more: readonly [string, string][] = []) => {
		const texts = new URLSearchParams([...others, ...more]).toString();
		return texts === '' ? request.path : `${request.path}?${texts}`;
	};
	if (includeOf(view))
		return html`<p class="note">Mail gateways are counted. <a href="${path()}">Leave them out</a></p>`;
	return (
		visitors > 0 &&
		html`<p class="note">${leftOutText(visitors)} <a href="${path([['include', 'gateways']])}">Count them</a></p>`
	);
}
