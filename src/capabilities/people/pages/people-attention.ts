import type { AccountRequest } from '../../../kit/console/page.ts';
import { type HtmlValue, html } from '../../../kit/format/html.ts';

/** Whether somebody can sign in again. */
export async function withoutPassword({ store, person, session }: AccountRequest): Promise<HtmlValue[]> {
	if (session.method !== 'link') return [];
	const { hasPassword, issuer } = await store.control.people.find(person.email);
	if (hasPassword || issuer !== null) return [];
	return [
		html`You have signed in with a link that works once, and have no password yet. <a href="/console/account">Set one</a>, or you will need a new link next time.`,
	];
}
