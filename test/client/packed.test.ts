import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { build } from 'esbuild';
import { TestProcess } from '../process.ts';
import { takesLong } from '../quick.ts';
import { startService, temporaryFolder } from '../support.ts';
import { exactProperties, importedSources, lostLinks, packInto } from './pack.ts';

const script = `
import { Caskade, InvalidRequestError } from 'caskade-client';
const caskade = new Caskade({ url: process.env.URL, apiKey: process.env.KEY });
const aid = 'c-a-acme-uk';
const event = { tid: 'order-1', subid: 'sub-1', evt: 'newsletter', rvn: 499 };
const { stored } = await caskade.subscriptions.upload(aid, [event]);
const again = await caskade.subscriptions.upload(aid, [event]);
const receipt = await caskade.receipts.get(aid, 'order-1');
const wrong = await caskade.subscriptions.upload(aid, [{}]).catch((error) => error instanceof InvalidRequestError);
console.log(JSON.stringify([stored, again.duplicates, receipt.stored, wrong, (await caskade.usage()).used]));
`;

const typed = `
// As Bun's types have it.
declare global { namespace fetch { function preconnect(url: string): void } }
import { Caskade, type SubscriptionEvent, type UploadResult, webhooks } from 'caskade-client';
const event: SubscriptionEvent = { tid: 't', subid: 's', evt: 'e' };
export const result: Promise<UploadResult> = new Caskade({ url: 'https://x', apiKey: 'k' }).subscriptions.upload('a', [event]);
export const message: Promise<unknown> = webhooks.verify('', new Headers(), 'whsec_');
export const replaced = new Caskade({ url: 'https://x', apiKey: 'k', fetch: async () => new Response('') });
class OwnHeaders { get(name: string): string | null { return name } }
export const other: Promise<unknown> = webhooks.verify('', new OwnHeaders(), 'whsec_');
// @ts-expect-error rvn is a number
export const wrong: SubscriptionEvent = { ...event, rvn: true };
`;

/** The command of each runtime on this machine; Bun and Deno where they are on the PATH. */
function runtimes(): [string, ...string[]][] {
	const isThere = ([command]: readonly [string, ...string[]]) =>
		(process.env.PATH ?? '').split(':').some((folder) => existsSync(join(folder, command)));
	const nodes = [process.execPath, ...['/usr/bin/node', '/usr/local/bin/node'].filter(existsSync)];
	const others: [string, ...string[]][] = [
		['bun'],
		['deno', 'run', '--no-lock', '--allow-env', '--allow-net'],
	];
	return [...nodes.map((node): [string] => [node]), ...others.filter(isThere)];
}

test('the packed client runs in an empty project, also on Node 20, with types, and the library imports no other package', {
	skip: takesLong,
}, async (t) => {
	const folder = temporaryFolder(t);
	const installed = await packInto(folder);
	const { dependencies } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
	// Of the command alone, and each without dependencies.
	assert.deepEqual(Object.keys(dependencies), ['commander', 'csv-parse']);
	assert.deepEqual(lostLinks(installed), []);
	assert.deepEqual(exactProperties(installed), []);
	assert.deepEqual(importedSources(installed), []);
	// Resolvers that do not know `exports` find it by `main`, and tools that look at packages read package.json.
	const ofProject = createRequire(join(folder, 'index.js'));
	assert.equal(ofProject('caskade-client/package.json').main, './dist/index.js');
	for (const file of ['dist/index.js', 'dist/index.d.ts', 'README.md', 'LICENSE'])
		assert.ok(existsSync(join(installed, file)), file);
	assert.ok(!existsSync(join(installed, 'src')));

	writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
	writeFileSync(join(folder, 'upload.js'), script);
	for (const [runtime, ...args] of runtimes()) {
		const service = await startService(t);
		await using process = new TestProcess(runtime, [...args, join(folder, 'upload.js')], {
			URL: service.url,
			KEY: service.key,
		});
		const { stdout, stderr } = await process.ended;
		assert.equal(stderr, '', runtime);
		assert.deepEqual(JSON.parse(stdout), [1, 1, true, true, 4], runtime);
		t.diagnostic(`ran on ${runtime}`);
	}

	mkdirSync(join(folder, 'typed'));
	writeFileSync(join(folder, 'typed/index.ts'), typed);
	const tsc = join(import.meta.dirname, '../../node_modules/.bin/tsc');
	const options = ['--noEmit', '--strict', '--module', 'nodenext', '--lib', 'es2022,dom', '--types', ''];
	execFileSync(tsc, [...options, 'typed/index.ts'], { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] });

	// Workers have no module of Node's.
	const { outputFiles, metafile } = await build({
		stdin: { contents: "export * from 'caskade-client'", resolveDir: folder },
		bundle: true,
		write: false,
		metafile: true,
		platform: 'neutral',
		format: 'esm',
	});
	const library = /^(<stdin>|.*caskade-client\/dist\/[\w-]+\.js)$/;
	for (const path of Object.keys(metafile.inputs)) assert.match(path, library);
	assert.doesNotMatch(outputFiles[0]?.text ?? '', /\bprocess\.|\bBuffer\b|node:/);
});
