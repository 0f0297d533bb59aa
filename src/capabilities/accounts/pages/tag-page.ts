import { dayMs } from '../../../core/durations.ts';
import { type AccountRequest, accountPage } from '../../../kit/console/page.ts';
import { tagSnippet, unknownOrigin } from '../../../kit/console/tag-snippet.ts';
import { asWritten, type Html, html } from '../../../kit/format/html.ts';
import { hitsBefore } from '../../../kit/reading/histories.ts';

/** What to put on every page, and whether hits come from it. */
export const tagPage = accountPage({
	path: ':aid/tag',
	title: 'The tag',
	menu: 'Tag',
	place: 9,
	right: 'aggregates',
	isLive: true,
	async get(asked) {
		const { account, tagUrl = `${unknownOrigin}/tag.js` } = asked;
		const { origin } = new URL(tagUrl);
		return html`<p>Put this on every page, before <code>&lt;/head&gt;</code>:</p>
<pre id="snippet" tabindex="0"><code>${asWritten(tagSnippet(account.aid, tagUrl))}</code></pre>
<p><button type="button" data-copy="snippet" hidden>Copy</button></p>
${!asked.tagUrl && html`<p class="note">Replace <code>${unknownOrigin}</code> with the address at which browsers reach this service: the server does not know its own name.</p>`}
${await arrival(asked)}
<section><h2>With a content security policy</h2>
<p>The first script is inline: give it a nonce, or put what is in it into a file of your own.</p>
<p>Name <code>${origin}</code> in <code>script-src</code>, for the tag, and in <code>connect-src</code>, for its hits.</p></section>`;
	},
});

/** Whether hits come; it is made anew while somebody waits. */
async function arrival({ store, account, now, calendar }: AccountRequest): Promise<Html> {
	const [last] = await store.read(account.id, hitsBefore(now(), 1));
	const isRecent = last && now() - last.atMs <= dayMs;
	const text = isRecent
		? html`Hits arrive. The last one came on ${calendar.timeOf(last.atMs)} (${calendar.timezone}).`
		: html`${last ? html`No hit for more than a day: the last one came on ${calendar.timeOf(last.atMs)} (${calendar.timezone}).` : html`Waiting for the first hit.`} Open a page with the tag in a browser; this line refreshes itself within 15 seconds. If it does not, the browser's own console (F12) on that page says why.`;
	return html`<p class="${isRecent ? 'note' : 'empty'}" role="status" data-part="arrival">${text}</p>`;
}
