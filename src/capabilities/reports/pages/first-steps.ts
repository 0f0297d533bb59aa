import { dayMs } from '../../../core/durations.ts';
import type { AccountRequest } from '../../../kit/console/page.ts';
import { tagSnippet, unknownOrigin } from '../../../kit/console/tag-snippet.ts';
import { asWritten, type Html, html } from '../../../kit/format/html.ts';
import { latestEvents } from '../../../kit/reading/event-finding.ts';
import { hitsBefore } from '../../../kit/reading/histories.ts';

/** What uploads one event of 0 pence, in each language. */
function uploads(aid: string, url: string): readonly (readonly [language: string, text: string])[] {
	const event = `{"tid": "first-step", "subid": "first-step", "evt": "test"}`;
	const body = `{"aid": "${aid}", "data": [${event}]}`;
	return [
		[
			'curl',
			`curl ${url}/subscription -H "x-api-key: $CASKADE_KEY" -H 'content-type: application/json' -d '${body}'`,
		],
		[
			'TypeScript',
			`import { Caskade } from 'caskade-client';

const caskade = new Caskade({ url: '${url}', apiKey: process.env.CASKADE_KEY! });
await caskade.subscriptions.upload('${aid}', [{ tid: 'first-step', subid: 'first-step', evt: 'test' }]);`,
		],
		[
			'Python',
			`import json, os, urllib.request

body = json.dumps(${body}).encode()
headers = {"x-api-key": os.environ["CASKADE_KEY"], "content-type": "application/json"}
print(urllib.request.urlopen(urllib.request.Request("${url}/subscription", body, headers)).read().decode())`,
		],
		[
			'PHP',
			`<?php
$headers = ['x-api-key: ' . getenv('CASKADE_KEY'), 'content-type: application/json'];
$http = ['method' => 'POST', 'header' => $headers, 'content' => '${body}'];
echo file_get_contents('${url}/subscription', false, stream_context_create(['http' => $http]));`,
		],
	];
}

function status(part: string, what: string, hasArrived: boolean): Html {
	const text = hasArrived
		? html`<span class="good">✓ The first ${what} has arrived.</span>`
		: `Waiting for the first ${what}.`;
	return html`<p role="status" data-part="${part}">${text}</p>`;
}

/** What a new account waits for, with lines to paste, until both have come, and on the day on which they came. */
export async function firstSteps({ store, account, now, tagUrl }: AccountRequest): Promise<Html | null> {
	const { aid, id } = account;
	const has = async (beforeMs: number) => {
		const [hits, events] = await Promise.all([
			store.read(id, hitsBefore(beforeMs, 1)),
			store.read(id, latestEvents(beforeMs, 1)),
		]);
		return { hit: hits.length > 0, event: events.length > 0 };
	};
	const present = await has(now());
	if (present.hit && present.event) {
		const before = await has(now() - dayMs);
		if (before.hit || before.event) return null;
	}
	const url = tagUrl?.replace(/\/tag\.js$/, '') ?? unknownOrigin;
	return html`<section class="section" aria-labelledby="first-steps"><h2 id="first-steps">First steps</h2>
${status('first-hit', 'hit', present.hit)}
<details${!present.hit && html` open`}><summary>The tag, for every page</summary>
<pre tabindex="0"><code>${asWritten(tagSnippet(aid, tagUrl ?? `${unknownOrigin}/tag.js`))}</code></pre></details>
${status('first-upload', 'upload', present.event)}
<p class="note">Each example stores the same test event of 0 pence. An API key is issued in <a href="/console/${aid}/settings?part=keys">Settings</a>, or by <code>caskade key issue --client ${account.client}</code>; put it into <code>CASKADE_KEY</code>.${!tagUrl && html` Write the server's address instead of <code>${unknownOrigin}</code>.`}</p>
${uploads(aid, url).map(
	(
		[language, text],
		place,
	) => html`<details${place === 0 && !present.event && html` open`}><summary>${language}</summary>
<pre tabindex="0"><code>${asWritten(text)}</code></pre></details>
`,
)}
<p class="note">This page refreshes itself; without scripts, <a href="">reload it</a>. <code>caskade import ${aid} FILE</code> imports past data. To look around first, <code>caskade demo</code> generates a year of a made-up shop in the account c-a-demo-local.</p></section>`;
}
