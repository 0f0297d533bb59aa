import type { AccountRequest } from '../../../kit/console/page.ts';
import { type HtmlValue, html } from '../../../kit/format/html.ts';
import { may } from '../../../kit/person.ts';

/** Whether messages arrive. */
export async function failingWebhooks({ account, person }: AccountRequest): Promise<HtmlValue[]> {
	const { aid, webhooks } = account;
	if (webhooks.every(({ failingSinceMs }) => failingSinceMs === null)) return [];
	const text = 'Which one, and why';
	const link = may(person, aid, 'operate') ? html`<a href="/console/${aid}/webhooks">${text}</a>` : text;
	return [html`A webhook is failing. ${link}.`];
}
