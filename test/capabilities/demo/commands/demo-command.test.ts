import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { countRows, tableRows } from '../../../../src/core/store/account/reading/rows.ts';
import { countVisitors } from '../../../../src/core/store/account/reading/visitors.ts';
import { historyExtent } from '../../../../src/kit/reading/histories.ts';
import { engines, openFor } from '../../../core/store/engines.ts';
import {
	assertMisused,
	assertRefused,
	caskade,
	caskadeJson,
	TestProcess,
	withinASecond,
} from '../../../process.ts';
import { takesLong } from '../../../quick.ts';
import { serveHere } from '../../../serve-here.ts';
import { addClient, event, temporaryFolder } from '../../../support.ts';

interface Report {
	readonly aid: string;
	readonly client: string;
	readonly key?: string;
	readonly visitors: number;
	readonly hits: number;
	readonly events: number;
	readonly vid: string;
	readonly cask: string;
	readonly experiment: string;
}

const newFolder = (t: TestContext) => `sqlite:${join(temporaryFolder(t), 'data')}`;
const few = ['--visitors', '300'];

for (const engine of engines)
	test(`${engine.name}: demo fills a new account beside a running server, which then serves what it prints`, {
		skip: !engine.isFolder && takesLong,
	}, async (t) => {
		const address = await engine.installedAddress(t);
		await using server = await serveHere(['--database', address]);
		// Of 2,000, at every hour of the day, somebody looks at the plans again and again.
		const count = engine.isFolder ? 2000 : 300;
		const demo = ['demo', '--visitors', `${count}`, '--url', server.url, '--database', address];
		const report = (await caskadeJson(demo)) as Report;
		assert.equal(report.aid, 'c-a-demo-local');
		assert.equal(report.visitors, count);

		const store = await openFor(t, address);
		const { id } = await store.control.account(report.aid);
		const { hits, uploads } = await store.read(id, historyExtent(Number.MAX_SAFE_INTEGER));
		const visitors = await store.read(id, countVisitors());
		assert.deepEqual([visitors, hits, uploads], [count, report.hits, report.events]);
		assert.ok(uploads > 5);

		const ask = (path: string) => fetch(`${server.url}${path}?cask=${report.cask}`);
		await withinASecond('the server knows the account', async () => (await ask('/visscores')).ok);
		const { vid, scores } = (await (await ask('/visscores')).json()) as { vid: string; scores: unknown[] };
		assert.equal(vid, report.vid);
		assert.equal(scores.length, 2);
		const { segments } = (await (await ask('/visscores/segments')).json()) as {
			segments: { id: string }[];
		};
		if (engine.isFolder) assert.ok(segments.some(({ id }) => id === 'considering'));

		const upload = await server.upload(report.key as string, { aid: report.aid, data: [event()] });
		assert.equal(upload.status, 201);
	});

test('the printed commands are for the server that runs on the folder', async (t) => {
	const at = ['--database', newFolder(t)];
	await using server = await serveHere(['--base-path', '/api', ...at]);
	const { stdout } = await caskade(['demo', ...few, ...at]);
	const urls = [...stdout.matchAll(/https?:[^\s"']+/g)].map(([url]) => url);
	assert.ok(urls.length >= 3, stdout);
	for (const url of urls) assert.ok(url.startsWith(`${server.url}/`), url);
	const elsewhere = await caskade(['demo', '--visitors', '1', '--url', 'https://a.example', ...at]);
	assert.match(elsewhere.stdout, /^https:\/\/a\.example\/demo\/$/m);
});

test('profiles match the log, sales belong to their buyers, and all segments but the one of scores have members', async (t) => {
	const at = ['--database', newFolder(t)];
	await caskadeJson(['demo', '--visitors', '1000', ...at]);
	assert.deepEqual(await caskadeJson(['visitor', 'rebuild', 'c-a-demo-local', ...at]), {
		aid: 'c-a-demo-local',
		visitors: 1000,
		apart: 0,
		changed: 0,
	});
	const store = await openFor(t, at[1] as string);
	const { id } = await store.control.account('c-a-demo-local');
	const owners = await store.read(id, tableRows('subscription_event', undefined, 1000));
	assert.ok(owners.length > 20);
	assert.ok(owners.every((row) => row.at(-1) !== null));
	for (const segment of ['new', 'returning', 'engaged', 'considering', 'subscriber']) {
		const { matching } = (await caskadeJson(['segment', 'test', 'c-a-demo-local', segment, ...at])) as {
			matching: number;
		};
		assert.ok(matching > 0 && matching < 1000, `${segment}: ${matching}`);
	}
});

test('the experiment of the demo finds its true effect, with nothing to warn of', {
	skip: takesLong,
}, async (t) => {
	const at = ['--database', newFolder(t)];
	const { experiment } = (await caskadeJson(['demo', '--visitors', '2500', ...at])) as Report;
	assert.equal(experiment, 'welcome-back');
	const made = (await caskadeJson(['report', 'lift', 'c-a-demo-local', ...at])) as {
		warnings: string[];
		groups: Record<'treated' | 'holdout', { visitors: number; read: number }>;
		lift: Record<'conversionRate' | 'netPencePerVisitor', Record<string, number>>;
	};
	assert.deepEqual(made.warnings, []);
	assert.ok(made.groups.treated.visitors > 150 && made.groups.treated.read > 0.75);
	// The documentation tells them: 11.3 percentage points, and 212 pence.
	for (const [name, truth] of [
		['conversionRate', 0.113],
		['netPencePerVisitor', 212],
	] as const) {
		const { anytimeLow = Number.NaN, anytimeHigh = Number.NaN } = made.lift[name];
		assert.ok(anytimeLow < truth && truth < anytimeHigh, `${name} ${anytimeLow} ${anytimeHigh}`);
	}
});

test('the printed commands can be pasted into a terminal', { skip: takesLong }, async (t) => {
	const at = ['--database', newFolder(t)];
	const { stdout, stderr, code } = await caskade(['demo', ...few, ...at]);
	assert.equal(code, 0);
	assert.match(stderr, /demo c-a-demo-local: [\d,]+ of [\d,]+ hits and events/);
	assert.match(
		stdout,
		/^c-a-demo-local has 300 more visitors, with [\d,]+ hits and \d+ subscription events\.\n/,
	);
	assert.match(stdout, /^CASK=\S+\ncurl -s "http:\/\/127\.0\.0\.1:8080\/visscores\?cask=\$CASK"$/m);
	// Not `train`, which takes a while and has tests of its own.
	const lines = stdout.match(/^bin\/caskade (visitor|segment) .+$/gm) ?? [];
	assert.equal(lines.length, 3);
	for (const line of lines) {
		await using pasted = new TestProcess('bash', ['-c', line]);
		assert.equal((await pasted.ended).code, 0, line);
	}
});

test('another run adds visitors, and shows no other key', async (t) => {
	const at = ['--database', newFolder(t)];
	const first = (await caskadeJson(['demo', ...few, ...at])) as Report;
	const second = (await caskadeJson(['demo', ...few, '--seed', '2', '--days', '30', ...at])) as Report;
	assert.match(first.key ?? '', /^caskade_key_/);
	assert.equal(second.key, undefined);
	const store = await openFor(t, at[1] as string);
	const { id } = await store.control.account('c-a-demo-local');
	assert.equal(await store.read(id, countVisitors()), 600);
	assert.equal(await store.read(id, countRows('subscription_event')), first.events + second.events);
});

test('an account with data of a client is refused; an empty or new one is filled', async (t) => {
	const address = newFolder(t);
	const at = ['--database', address];
	const store = await openFor(t, address);
	const { aid } = await addClient(store);
	const report = (await caskadeJson(['demo', aid, ...few, ...at])) as Report;
	assert.deepEqual([report.client, report.key], ['acme', undefined]);
	assertRefused(await caskade(['demo', aid, ...few, ...at]), /c-a-acme-uk has visitors or events of its own/);
	assert.equal(((await caskadeJson(['demo', 'c-a-demo-us', ...few, ...at])) as Report).client, 'demo');
});

test('invalid numbers and addresses are refused', async (t) => {
	const at = ['--database', newFolder(t)];
	assertMisused(await caskade(['demo', '--visitors', '0', ...at]), /whole number from 1 to 50000/);
	assertMisused(await caskade(['demo', '--days', 'x', ...at]), /whole number from 1 to 730/);
	assertMisused(await caskade(['demo', '--url', 'localhost', ...at]), /address of a server/);
});
