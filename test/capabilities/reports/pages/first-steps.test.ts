import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { dayMs } from '../../../../src/core/durations.ts';
import { consoleHere } from '../../../assembly/console/here.ts';
import { faultsOf } from '../../../assembly/console/markup.ts';
import { packInto } from '../../../client/pack.ts';
import {
	enginesAboveContract,
	startWritingFor,
	subscriptionEvent,
	upload,
} from '../../../core/store/engines.ts';
import { hit } from '../../../core/store/made-hits.ts';
import { TestProcess } from '../../../process.ts';
import { takesLong } from '../../../quick.ts';
import { startService, temporaryFolder } from '../../../support.ts';

const path = '/console/c-a-one/';

for (const engine of enginesAboveContract)
	test(`a new account waits for a hit and an upload until they have come, on ${engine.name}`, async (t) => {
		const { person, store, clock, errors } = await consoleHere(t, engine, { makesReports: true });
		const { id } = await store.control.account('c-a-one');
		const ada = await person('ada@example.com', [{ aid: null, role: 'viewer' }]);
		const look = async () => {
			clock.monotonicMs += 60_000;
			const { body } = await ada.whole(path);
			assert.deepEqual(await faultsOf(body), []);
			return body;
		};
		const empty = await look();
		assert.match(empty, /data-part="first-hit">Waiting for the first hit\.</);
		assert.match(empty, /data-part="first-upload">Waiting for the first upload\.</);

		const writer = await startWritingFor(t, store);
		await writer.storeHit(id, hit({ atMs: clock.now - 1000 }));
		const half = await look();
		assert.match(half, /data-part="first-hit"><span class="good">✓ The first hit has arrived\.</);
		assert.match(half, /Waiting for the first upload/);

		await upload(writer, id, [subscriptionEvent()], { atMs: clock.now - 1000 });
		assert.match(
			await look(),
			/data-part="first-upload"><span class="good">✓ The first upload has arrived\.</,
		);

		clock.now += dayMs;
		assert.doesNotMatch(await look(), /First steps/);
		assert.deepEqual(errors, []);
	});

test('what it says to paste uploads an event, in each language', { skip: takesLong }, async (t) => {
	const folder = temporaryFolder(t);
	await packInto(folder);
	writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
	const script = join(folder, 'example.ts');
	const php = join(folder, 'example.php');
	const run: Readonly<Record<string, (text: string) => [string, string[]]>> = {
		curl: (text) => ['bash', ['-c', text]],
		TypeScript: (text) => {
			writeFileSync(script, text);
			return [process.execPath, [script]];
		},
		Python: (text) => ['python3', ['-c', text]],
		PHP: (text) => {
			writeFileSync(php, text);
			return ['php', [php]];
		},
	};
	for (const [language, how] of Object.entries(run)) {
		const service = await startService(t);
		const [engine] = enginesAboveContract;
		assert.ok(engine);
		const { person } = await consoleHere(t, engine, { makesReports: true, tagUrl: `${service.url}/tag.js` });
		const ada = await person('ada@example.com', [{ aid: null, role: 'viewer' }]);
		const { body } = await ada.whole(path);
		const [, shown = ''] =
			new RegExp(`<summary>${language}</summary>\\s*<pre[^>]*><code>(.*?)</code>`, 's').exec(body) ?? [];
		const text = shown
			.replaceAll(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))
			.replaceAll('c-a-one', service.aid);
		const [command, args] = how(text);
		if (spawnSync(command, ['--version']).error) {
			t.diagnostic(`there is no ${command} here`);
			continue;
		}
		const ended = await new TestProcess(command, args, { CASKADE_KEY: service.key }).ended;
		assert.equal(ended.code, 0, `${language}\n${text}\n${ended.stdout}${ended.stderr}`);
		assert.deepEqual(
			(await service.stored()).map(({ tid }) => tid),
			['first-step'],
			language,
		);
	}
});
