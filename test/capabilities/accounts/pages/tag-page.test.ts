import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dayMs } from '../../../../src/core/durations.ts';
import { consoleHere } from '../../../assembly/console/here.ts';
import { enginesAboveContract, startWritingFor } from '../../../core/store/engines.ts';
import { hit } from '../../../core/store/made-hits.ts';

const path = '/console/c-a-one/tag';

for (const engine of enginesAboveContract) {
	test(`the page of the tag has the whole snippet, and waits for the first hit, on ${engine.name}`, async (t) => {
		const { person, store, clock } = await consoleHere(t, engine, {
			tagUrl: 'https://collect.example.com/tag.js',
		});
		const ada = await person('ada@example.com', [{ aid: null, role: 'viewer' }]);
		const waiting = await ada.get(path);
		const [, snippet = ''] = /<pre id="snippet"[^>]*><code>(.*?)<\/code>/s.exec(waiting.body) ?? [];
		assert.equal(
			snippet.replaceAll(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code))),
			`<script>
	window.vscr=window.vscr||function(){(vscr.q=vscr.q||[]).push(arguments)};
	vscr('setAccount', 'c-a-one');
	vscr('fire');
</script>
<script async src="https://collect.example.com/tag.js"></script>`,
		);
		assert.doesNotMatch(snippet, /<script/);
		assert.match(waiting.body, /<code>https:\/\/collect\.example\.com<\/code> in <code>script-src/);
		assert.match(waiting.body, /Waiting for the first hit/);
		assert.match(waiting.body, /console \(F12\) on that page says why/);
		assert.ok(waiting.againAfterMs, 'it is made anew while somebody looks at it');

		const writer = await startWritingFor(t, store);
		const { id } = await store.control.account('c-a-one');
		await writer.storeHit(id, hit({ atMs: clock.now - 1000 }));
		assert.match(
			(await ada.get(path)).body,
			/Hits arrive\. The last one came on 2026-11-21 09:59:59 \(UTC\)/,
		);
		clock.now += 2 * dayMs;
		const quiet = await ada.get(path);
		assert.match(
			quiet.body,
			/No hit for more than a day: the last one came on 2026-11-21 09:59:59 \(UTC\)\. Open a page/,
		);
		assert.doesNotMatch(quiet.body, /Hits arrive/);
	});

	test(`where the server does not know its name, the page of the tag says so, on ${engine.name}`, async (t) => {
		const { person } = await consoleHere(t, engine);
		const ada = await person('ada@example.com', [{ aid: null, role: 'viewer' }]);
		assert.match(
			(await ada.get(path)).body,
			/Replace <code>https:\/\/your-caskade\.example<\/code> with the address/,
		);
	});
}
