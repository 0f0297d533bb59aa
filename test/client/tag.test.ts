import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { build } from 'esbuild';
import { buildTagModule } from '../../.ci/build.ts';
import { browserTestMs, openPage, startSite, withoutBrowser } from '../core/collect/browser.ts';
import { hitsOf, openBrowser } from '../core/collect/tagged-site.ts';
import { takesLong } from '../quick.ts';
import { startService, temporaryFolder } from '../support.ts';
import { exactProperties, importedSources, lostLinks } from './pack.ts';

const modules = join(import.meta.dirname, '../../node_modules');

/** A project in which the package is installed, beside what its pages are built with. */
function projectOf(t: TestContext): string {
	const folder = temporaryFolder(t);
	mkdirSync(join(folder, 'node_modules/@types'), { recursive: true });
	buildTagModule(join(folder, 'node_modules/caskade-tag'));
	for (const name of ['react', 'react-dom', 'scheduler', '@types/react', 'csstype'])
		symlinkSync(join(modules, name), join(folder, 'node_modules', name));
	// All that pages without templates need of Vue.
	symlinkSync(join(modules, '@vue/runtime-dom'), join(folder, 'node_modules/vue'));
	return folder;
}

/** What a bundler makes of a page's module. */
async function bundleIn(folder: string, contents: string): Promise<string> {
	const { outputFiles } = await build({
		stdin: { contents, resolveDir: folder },
		bundle: true,
		write: false,
		format: 'esm',
		minify: true,
		define: { 'process.env.NODE_ENV': '"production"', __VUE_PROD_DEVTOOLS__: 'false' },
	});
	return outputFiles[0]?.text ?? '';
}

const load = (server: string) => `
	import { loadTag, vscr } from 'caskade-tag';
	loadTag({ server: ${JSON.stringify(server)}, account: 'c-a-acme-uk' });
`;

const pages: Readonly<Record<string, string>> = {
	module: `
		import { scores, segments } from 'caskade-tag';
		vscr('addEvent', 'seen');
		vscr('fire');
		const [[score], [segment]] = await Promise.all([scores(), segments()]);
		document.body.textContent = score.goal + ' ' + segment.name;`,
	react: `
		import { createElement } from 'react';
		import { createRoot } from 'react-dom/client';
		import { useScores, useSegments } from 'caskade-tag/react';
		function Page() {
			const goals = useScores().map(({ goal }) => goal);
			return createElement('p', {}, goals[0], ' ', useSegments().map(({ name }) => name));
		}
		vscr('addEvent', 'seen');
		vscr('fire');
		createRoot(document.body).render(createElement(Page));`,
	vue: `
		import { createApp, h } from 'vue';
		import { useScores, useSegments } from 'caskade-tag/vue';
		vscr('addEvent', 'seen');
		vscr('fire');
		createApp({
			setup() {
				const [scores, segments] = [useScores(), useSegments()];
				return () => h('p', [scores.value[0]?.goal, ' ', segments.value.map(({ name }) => name).join()]);
			},
		}).mount('body');`,
};

describe('the module of the tag', { skip: withoutBrowser || takesLong, timeout: browserTestMs }, () => {
	const { context } = openBrowser();

	for (const [name, source] of Object.entries(pages))
		test(`${name}: a built page sends a hit, and shows scores and segments`, async (t) => {
			const service = await startService(t);
			const script = await bundleIn(projectOf(t), load(service.url) + source);
			const site = await startSite(t, (path) =>
				path.endsWith('.js')
					? script
					: '<!doctype html><body></body><script type="module" src="/page.js"></script>',
			);
			const { page, errors, warnings } = await openPage(await context(t), `${site}/pricing`, service.url);
			await page.waitForFunction("document.body.textContent.trim() === 'subscription New visitors'");
			const [hit] = await hitsOf(service);
			assert.equal(hit?.body.page, 'pricing');
			assert.deepEqual(hit.body.events, [{ name: 'seen' }]);
			assert.deepEqual([errors, warnings], [[], []]);
		});

	for (const framework of ['react', 'vue'])
		test(`${framework}: components share a request, and follow what the page says about consent and events`, async (t) => {
			const service = await startService(t);
			const list = {
				react: `
					import { createElement } from 'react';
					import { createRoot } from 'react-dom/client';
					import { useSegments } from 'caskade-tag/react';
					const One = () => createElement('i', {}, useSegments().map(({ name }) => name));
					createRoot(document.body).render(Array.from({ length: 20 }, (_, key) => createElement(One, { key })));`,
				vue: `
					import { createApp, h } from 'vue';
					import { useSegments } from 'caskade-tag/vue';
					const One = { setup() { const list = useSegments(); return () => h('i', list.value.map(({ name }) => name)) } };
					createApp({ render: () => Array.from({ length: 20 }, (_, key) => h(One, { key })) }).mount('body');`,
			}[framework];
			const script = await bundleIn(
				projectOf(t),
				`${load(service.url)} vscr('setConsent', false); vscr('fire'); window.say = vscr; ${list}`,
			);
			const site = await startSite(t, (path) =>
				path.endsWith('.js')
					? script
					: '<!doctype html><body></body><script type="module" src="/page.js"></script>',
			);
			const { page, errors } = await openPage(await context(t), `${site}/pricing`, service.url);
			let asked = 0;
			page.on('request', (request) => {
				if (request.method() === 'GET' && request.url().includes('/visscores/segments')) asked++;
			});
			const shows = (name: string) =>
				page.waitForFunction(
					`[...document.querySelectorAll('i')].filter((one) => one.textContent === '${name}').length === 20`,
				);
			await page.waitForFunction('window.vscr?.scores !== undefined');
			await shows('');
			await page.evaluate("say('setConsent', true)");
			await shows('New visitors');
			assert.equal(asked, 1);
			await page.evaluate("say('addEvent', 'seen'); say('fire')");
			await shows('New visitors');
			await page.evaluate("say('setConsent', false)");
			await shows('');
			assert.ok(asked <= 2, String(asked));
			assert.deepEqual(errors, []);
		});

	test('on a page that allows trusted types alone, lists are empty and nothing breaks', async (t) => {
		const script = await bundleIn(
			projectOf(t),
			`${load('http://127.0.0.1:1')} import { segments } from 'caskade-tag';
			document.body.textContent = 'goes on ' + (await segments()).length;`,
		);
		const site = await startSite(t, (path) =>
			path.endsWith('.js')
				? script
				: `<!doctype html><meta http-equiv="content-security-policy" content="require-trusted-types-for 'script'"><body></body><script type="module" src="/page.js"></script>`,
		);
		const { page, errors } = await openPage(await context(t), site, site);
		await page.getByText('goes on 0').waitFor();
		assert.deepEqual(errors, []);
	});

	test('where the script cannot be loaded, lists are empty', async (t) => {
		const script = await bundleIn(
			projectOf(t),
			load('http://127.0.0.1:1') +
				pages.module?.replace('score.goal', 'String(score)').replace('segment.name', 'segment'),
		);
		const site = await startSite(t, (path) =>
			path.endsWith('.js')
				? script
				: '<!doctype html><body></body><script type="module" src="/page.js"></script>',
		);
		const { page } = await openPage(await context(t), site, site);
		await page.waitForFunction("document.body.textContent === 'undefined undefined'");
	});
});

test('the module is small, does nothing on a server, and has types', { skip: takesLong }, async (t) => {
	const folder = projectOf(t);
	const script = await bundleIn(folder, load('https://collect.example'));
	assert.ok(script.length < 1000, `${script.length} bytes`);
	writeFileSync(
		join(folder, 'server.mjs'),
		`${load('https://collect.example')} vscr('fire');
		import { scores, segments } from 'caskade-tag';
		console.log(await scores(), await segments());`,
	);
	const printed = execFileSync(process.execPath, [join(folder, 'server.mjs')], {
		stdio: 'pipe',
		encoding: 'utf8',
	});
	assert.equal(printed, '[] []\n');

	const installed = join(folder, 'node_modules/caskade-tag');
	assert.deepEqual(lostLinks(installed), []);
	assert.deepEqual(exactProperties(installed), []);
	assert.deepEqual(importedSources(installed), []);
	// Resolvers that do not know `exports` find a file; tools that look at packages read package.json.
	for (const name of ['index', 'react', 'vue'])
		for (const end of ['.js', '.d.ts']) assert.ok(existsSync(join(installed, name + end)), name + end);
	const { name, peerDependencies } = createRequire(join(folder, 'page.js'))('caskade-tag/package.json');
	assert.equal(name, 'caskade-tag');
	// A canary of React, or a beta of Vue, is in no other range, and npm would refuse to install the package beside it.
	assert.deepEqual(peerDependencies, { react: '*', vue: '*' });

	writeFileSync(
		join(folder, 'page.ts'),
		`import { type Segment, segments, vscr } from 'caskade-tag';
import { useSegments } from 'caskade-tag/react';
import { useScores } from 'caskade-tag/vue';
vscr('addEvent', { name: 'checkout', tid: 1234, rvn: 499, currency: 'GBP' });
vscr('fire');
export const found: Promise<readonly Segment[]> = segments();
export const shown: readonly Segment[] = useSegments();
export const first: string | undefined = useScores().value[0]?.goal;
// @ts-expect-error It is a boolean.
vscr('setConsent', 'yes');
// @ts-expect-error There is no such command.
vscr('set', 1);
`,
	);
	const options = ['--noEmit', '--strict', '--module', 'nodenext', '--lib', 'es2022,dom', '--types', ''];
	execFileSync(join(modules, '.bin/tsc'), [...options, 'page.ts'], { cwd: folder, stdio: 'pipe' });
});
