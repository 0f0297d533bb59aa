import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { build } from 'esbuild';
import { buildTagModule } from '../../.ci/build.ts';
import { browserTestMs, startSite, withoutBrowser } from '../core/collect/browser.ts';
import { hitsOf, isLoaded, openBrowser, settle } from '../core/collect/tagged-site.ts';
import { caskadeJson, mainPath, TestProcess } from '../process.ts';
import { takesLong } from '../quick.ts';
import { startService, type TestService, temporaryFolder } from '../support.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/how-to/recipes.md'), 'utf8');

function examples(section: string, language: string): string[] {
	const [, text = ''] = page.split(`\n## ${section}\n`);
	const [own = ''] = text.split('\n## ');
	return [...own.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(
		([, example]) => example as string,
	);
}

const [, upload = ''] = /^```sh\n(upload.*?)^```/ms.exec(page) ?? [];
/** Later than everything that the page tells. */
const asOf = '2026-11-20T12:00:00Z';
const uploads = ['A refund', 'An annual plan', 'A trial', 'An upgrade', 'A cancellation', 'Backdated orders'];

async function run(service: TestService, text: string): Promise<void> {
	const environment = {
		CASKADE_URL: service.url,
		CASKADE_KEY: service.key,
		CASKADE_DATABASE: `sqlite:${service.folder}`,
	};
	const command = `caskade() { '${process.execPath}' '${mainPath}' "$@" >&2; }\n${upload}${text}`;
	const ended = await new TestProcess('bash', ['-e', '-c', command], environment).ended;
	assert.equal(ended.code, 0, `${text}\n${ended.stdout}${ended.stderr}`);
	assert.match(ended.stdout, /Subscription created successfully/);
}

const reportOf = async (service: TestService, kind: string, ...flags: string[]) =>
	(await caskadeJson([
		...['report', kind, service.aid, '--as-of', asOf, ...flags],
		...['--database', `sqlite:${service.folder}`],
	])) as { rows: Record<string, Record<string, number>>[]; totals: Record<string, number> };

test('the uploads of the recipes are told by the reports as the page says', async (t) => {
	const service = await startService(t, { now: () => Date.parse(asOf) });
	for (const section of uploads) for (const text of examples(section, 'sh')) await run(service, text);
	const { totals } = await reportOf(service, 'subscriptions');
	assert.equal(totals.refundPence, -499);
	const [trials] = (await reportOf(service, 'trials', '--by', 'none')).rows;
	assert.equal(trials?.converted, 1);
	// With so few, nothing tells yet how often they pay.
	const november = ['--from', '2026-11-01', '--to', '2026-12-01', '--period', 'newsletter=30'];
	const [month] = (await reportOf(service, 'movement', ...november)).rows;
	assert.equal(month?.recurringPence?.expansion, 500);
	const { rows } = await reportOf(service, 'summary', '--evt', 'annual');
	assert.equal(rows[0]?.recurringPence, 499);
	const days = (await reportOf(service, 'activity', '--from', '2026-11-19', '--to', '2026-11-20')).rows;
	assert.equal(days[0]?.acquisitionPence, 499);
	const [cancelled] = (await reportOf(service, 'summary', '--evt', 'newsletter')).rows;
	assert.equal(cancelled?.cancelledSubscriptions, 1);
});

test('two currencies are two accounts, which one key reaches', async (t) => {
	const service = await startService(t);
	for (const text of examples('Two currencies', 'sh')) {
		const [create = '', ...rest] = text.split(/^(?=upload)/m);
		await run(service, `${create}sleep 1\n${rest.join('')}`);
	}
	const [stored] = await service.stored('c-a-acme-eu');
	assert.equal(stored?.rvn, 599);
});

/** What WordPress and WooCommerce offer to the plugin, as far as it uses them; it was tried with them themselves. */
const wordPress = `<?php
function add_action($name, $does) { global $actions; $actions[$name] = $does; }
function get_current_user_id() { return 42; }
function wc_get_is_paid_statuses() { return ['processing', 'completed']; }
class Order {
	public function __construct(private int $id) {}
	function get_id() { return $this->id; }
	function get_customer_id() { return 42; }
	function get_total() { return '19.90'; }
	function get_amount() { return '4.90'; }
}
function wc_get_order($id) { return new Order($id); }
function wp_remote_post($url, $request) {
	$headers = array_map(fn($name, $value) => "$name: $value", array_keys($request['headers']), $request['headers']);
	$http = ['method' => 'POST', 'header' => $headers, 'content' => $request['body']];
	file_get_contents($url, false, stream_context_create(['http' => $http]));
}
foreach (['URL', 'KEY', 'ACCOUNT', 'IDENTITY_SECRET'] as $name) define("CASKADE_$name", getenv("CASKADE_$name"));
require $argv[1];
$actions['wp_head']();
$actions['woocommerce_thankyou'](1001);
foreach (['on-hold', 'processing', 'completed'] as $status)
	$actions['woocommerce_order_status_changed'](1001, 'pending', $status, wc_get_order(1001));
$actions['woocommerce_order_status_changed'](1002, 'pending', 'on-hold', wc_get_order(1002));
$actions['woocommerce_order_refunded'](1001, 1003);
`;

test('the plugin for WordPress puts the tag into pages, and uploads paid orders and refunds', async (t) => {
	if (spawnSync('php', ['-v']).status !== 0) return t.skip('there is no php here');
	const service = await startService(t);
	const folder = temporaryFolder(t);
	const [plugin, host] = [join(folder, 'caskade.php'), join(folder, 'host.php')];
	writeFileSync(plugin, examples('WordPress', 'php')[0] as string);
	writeFileSync(host, wordPress);
	const environment = {
		CASKADE_URL: service.url,
		CASKADE_KEY: service.key,
		CASKADE_ACCOUNT: service.aid,
		CASKADE_IDENTITY_SECRET: 'caskade_identity_example',
	};
	const ended = await new TestProcess('php', [host, plugin], environment).ended;
	assert.equal(ended.code, 0, ended.stdout + ended.stderr);
	assert.match(ended.stdout, /vscr\('addCustomerId', "42~[0-9a-f]{64}"\); vscr\('fire'\)/);
	assert.match(
		ended.stdout,
		/vscr\('addEvent', {name: 'checkout', tid: 'order-1001~[0-9a-f]{64}'}\)<\/script>/,
	);
	assert.deepEqual(
		(await service.stored()).map(({ tid, subid, cid, rvn }) => [tid, subid, cid, rvn]),
		[
			['order-1001', 'order-1001', '42', 1990],
			['refund-1003', 'order-1001', '42', -490],
		],
	);
});

describe('what the recipes put into pages', { skip: withoutBrowser, timeout: browserTestMs }, () => {
	const { context } = openBrowser();

	const snippet = (section: string, service: TestService) =>
		(examples(section, 'html')[0] as string).replaceAll('https://collect.example', service.url);

	async function open(t: TestContext, html: string) {
		const site = await startSite(t, () => `<title>Page</title><body>${html}`);
		const opened = await (await context(t)).newPage();
		await opened.goto(`${site}/pricing`);
		return opened;
	}

	test('a consent banner: nothing before, the hit after, and nothing more when it is withdrawn', async (t) => {
		const service = await startService(t);
		const visited = await open(t, snippet('A consent banner', service));
		await isLoaded(visited);
		await settle(visited);
		assert.equal((await hitsOf(service)).length, 0);
		assert.deepEqual(await visited.context().cookies(), []);
		await visited.getByText('Agree').click();
		await visited.evaluate('vscr.scores()');
		assert.equal((await hitsOf(service)).length, 1);
		await visited.getByText('Refuse').click();
		assert.deepEqual(await visited.context().cookies(), []);
		await visited.reload();
		await isLoaded(visited);
		await settle(visited);
		assert.equal((await hitsOf(service)).length, 1);
	});

	/** Browsers run no script of an `innerHTML`, so tag managers make each anew. */
	const addAsTagManagersDo = (html: string) => `{
		const holder = document.body.appendChild(document.createElement('div'));
		holder.innerHTML = ${JSON.stringify(html)};
		for (const old of holder.querySelectorAll('script')) {
			const script = document.createElement('script');
			for (const { name, value } of old.attributes) script.setAttribute(name, value);
			script.text = old.text;
			old.replaceWith(script);
		}
	}`;

	test('a tag manager, which adds it to a page that has loaded', async (t) => {
		const service = await startService(t);
		const visited = await open(t, '');
		await visited.evaluate(addAsTagManagersDo(snippet('Tag Manager', service)));
		await isLoaded(visited);
		await visited.evaluate('vscr.scores()');
		assert.equal((await hitsOf(service)).length, 1);
	});

	test('a tag manager that adds it three times: the page counts once', async (t) => {
		const service = await startService(t);
		const visited = await open(t, '');
		const add = addAsTagManagersDo(snippet('Tag Manager', service));
		await visited.evaluate(add);
		await visited.evaluate(add);
		await isLoaded(visited);
		await visited.evaluate(add);
		await visited.evaluate('vscr.scores()');
		const hits = await hitsOf(service);
		assert.equal(hits.filter(({ body }) => body.page !== null).length, 1);
	});

	test('a component of React, also in strict mode', { skip: takesLong }, async (t) => {
		const service = await startService(t);
		const folder = temporaryFolder(t);
		mkdirSync(join(folder, 'node_modules'));
		buildTagModule(join(folder, 'node_modules/caskade-tag'));
		const modules = join(import.meta.dirname, '../../node_modules');
		for (const name of ['react', 'react-dom', 'scheduler'])
			symlinkSync(join(modules, name), join(folder, 'node_modules', name));
		const [component = ''] = examples('Next.js', 'tsx');
		writeFileSync(join(folder, 'tag.tsx'), component.replaceAll('https://collect.example', service.url));
		const { outputFiles } = await build({
			stdin: {
				contents: `import { createElement, StrictMode } from 'react';
					import { createRoot } from 'react-dom/client';
					import { useSegments } from 'caskade-tag/react';
					import { Tag } from './tag.tsx';
					const Offer = () => useSegments().map(({ name }) => name).join();
					const page = [createElement(Offer, { key: 1 }), createElement(Tag, { key: 2, customer: 'c-1' })];
					createRoot(document.body).render(createElement(StrictMode, {}, page));`,
				resolveDir: folder,
			},
			bundle: true,
			write: false,
			define: { 'process.env.NODE_ENV': '"development"' },
		});
		const visited = await open(t, `<script type="module">${outputFiles[0]?.text ?? ''}</script>`);
		await isLoaded(visited);
		await visited.getByText('New visitors').waitFor();
		await settle(visited);
		const hits = await hitsOf(service);
		assert.equal(hits.filter(({ body }) => body.page !== null).length, 1);
	});
});
