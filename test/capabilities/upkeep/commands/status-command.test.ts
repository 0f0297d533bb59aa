import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, renameSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openStore } from '../../../../src/assembly/open-store.ts';
import { insertMessages } from '../../../../src/capabilities/webhooks/store/outbox.ts';
import { addTasks } from '../../../../src/core/store/account/tasks.ts';
import { startSite } from '../../../core/collect/browser.ts';
import { installedPostgresDatabase } from '../../../core/store/postgres-server.ts';
import { eventually } from '../../../eventually.ts';
import { assertRefused, caskade, caskadeJson, ServeProcess } from '../../../process.ts';
import { takesLong } from '../../../quick.ts';
import { serveHere } from '../../../serve-here.ts';
import { addClient, startService, temporaryFolder } from '../../../support.ts';

type Status = Readonly<Record<string, unknown>>;

/** What `caskade status --json` prints, and its exit code. */
async function statusOf(...args: readonly string[]): Promise<{ code: number | null; status: Status }> {
	const { code, stdout, stderr } = await caskade(['status', '--json', ...args]);
	assert.equal(stderr, '');
	return { code, status: JSON.parse(stdout) };
}

const at = ({ folder }: { folder: string }) => ['--database', `sqlite:${folder}`];

/** A data folder with the account `c-a-acme-uk`. */
async function newFolder(t: TestContext) {
	const folder = temporaryFolder(t);
	const store = await openStore(`sqlite:${folder}`);
	t.after(() => store.close());
	await addClient(store);
	return { folder, store };
}

test('says where the server is, what it says of itself, and what waits', async (t) => {
	const service = await startService(t);
	const { version, commit, schemas, startedAt } = (await (
		await fetch(`${service.url}/healthz`)
	).json()) as Record<string, Record<string, number>>;
	const { code, status } = await statusOf(...at(service));
	assert.equal(code, 0);
	const { uptimeSeconds, ...rest } = status;
	assert.ok(Number.isSafeInteger(uptimeSeconds) && Number(uptimeSeconds) >= 0);
	assert.deepEqual(rest, {
		url: service.url,
		state: 'ready',
		version,
		...(commit && { commit }),
		controlSchema: schemas?.control,
		accountSchema: schemas?.accounts,
		startedAt,
		requestsWaiting: 0,
		servers: 1,
		accounts: 1,
		accountsFailing: 0,
		foldingWaiting: 0,
		messagesWaiting: 0,
		webhooksFailing: 0,
		lastBackupAt: null,
	});
	const { stdout } = await caskade(['status', ...at(service)]);
	assert.match(stdout, new RegExp(`^url +${service.url}\nstate +ready\nversion +\\d`));
	assert.match(stdout, /^uptimeSeconds +\d+ \(\d+ (s|min)\)$/m);
});

test('a server that was killed, or stopped, is not there; the next one is where it is', {
	skip: takesLong,
}, async (t) => {
	const { folder, store } = await newFolder(t);
	const here = at({ folder });
	assert.deepEqual((await statusOf(...here)).status.state, 'stopped');
	for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
		await using server = await ServeProcess.start(here);
		assert.equal((await statusOf(...here)).status.url, server.url);
		await server.kill(signal);
		assert.equal(existsSync(join(folder, 'serve.url')), signal === 'SIGKILL', 'nothing else has cleaned up');
		// A command that has the lock is no server, whatever a killed one has left.
		const release = store.blockServers();
		const { status } = await statusOf(...here);
		assert.deepEqual([status.url, status.state], [undefined, 'starting']);
		release();
		const stopped = await statusOf(...here);
		assert.deepEqual([stopped.code, stopped.status.url, stopped.status.state], [1, undefined, 'stopped']);
	}
});

test('a server that is being stopped is draining', async (t) => {
	const service = await startService(t, { drainDelayMs: 2000 });
	const stopped = service.server.stop();
	const { code, status } = await statusOf(...at(service));
	assert.deepEqual([code, status.state], [1, 'draining']);
	await stopped;
	assert.equal((await statusOf(...at(service))).status.state, 'stopped');
});

test('says when the last complete backup began', async (t) => {
	const { folder } = await newFolder(t);
	const here = at({ folder });
	const from = Date.now();
	await caskade(['backup', join(folder, 'first'), ...here]);
	const { status } = await statusOf(...here);
	const first = Date.parse(String(status.lastBackupAt));
	assert.ok(first >= from && first <= Date.now());
	assert.equal((await caskade(['backup', join(folder, 'first'), ...here])).code, 1);
	assert.equal((await statusOf(...here)).status.lastBackupAt, status.lastBackupAt);
	await caskade(['backup', join(folder, 'second'), ...here]);
	assert.ok(Date.parse(String((await statusOf(...here)).status.lastBackupAt)) > first);
});

test('counts background work of all accounts, and accounts that cannot be read', async (t) => {
	const { folder, store } = await newFolder(t);
	const here = at({ folder });
	const other = await addClient(store, { client: 'globex' });
	const { id } = await store.control.account(other.aid);
	const { id: webhook } = await store.control.createWebhook(id, {
		url: 'https://globex.example/hook',
		events: ['goal.reached'],
		withCid: false,
		allowPrivate: false,
	});
	const message = { webhook, type: 'goal.reached', vid: null, body: '{}' } as const;
	await store.transact(id, function* () {
		yield* addTasks(['c:customer-1', 'c:customer-2']);
		yield [
			insertMessages(
				[1, 2, 3].map((sequence) => ({ ...message, sequence })),
				Date.now(),
			),
		];
	});
	const { status: waiting } = await statusOf(...here);
	assert.deepEqual([waiting.foldingWaiting, waiting.messagesWaiting, waiting.webhooksFailing], [2, 3, 0]);
	const file = join(folder, 'accounts', '1.sqlite');
	renameSync(file, `${file}.away`);
	const { status } = await statusOf(...here);
	assert.deepEqual([status.accounts, status.accountsFailing, status.foldingWaiting], [2, 1, 2]);
});

test('--url asks a server, with any certificate and under any path, and nothing else', async (t) => {
	const { url, folder } = await startService(t, { selfSigned: true, basePath: '/api' });
	const { code, status } = await statusOf('--url', `${url}/`, '--database', 'sqlite:./nowhere');
	assert.deepEqual([code, status.url, status.state, status.accounts], [0, url, 'ready', undefined]);
	assert.equal((await statusOf(...at({ folder }))).status.url, url);

	const site = await startSite(t, (path) => (path === '/healthz' ? 'fine' : '<p>hello'));
	const silent = createServer().listen(0, '127.0.0.1');
	t.after(() => silent.close());
	await once(silent, 'listening');
	for (const [asked, state] of [
		[site, 'another program answers'],
		['http://127.0.0.1:1', 'no answer (ECONNREFUSED)'],
		[`http://127.0.0.1:${(silent.address() as AddressInfo).port}`, 'no answer (timed out)'],
	] as const)
		assert.deepEqual(await statusOf('--url', asked), { code: 1, status: { url: asked, state } });
	assertRefused(
		await caskade(['status', '--database', 'sqlite:./nowhere']),
		/There is no data in \/.*\/nowhere; name the data folder with --database/,
	);
});

test('a server on all addresses is named by one that can be reached', async (t) => {
	const { folder } = await newFolder(t);
	const flags = ['--host', '0.0.0.0', '--behind-proxy', '1', '--stage', 'staging'];
	await using server = await serveHere([...flags, ...at({ folder })]);
	const { code, status } = await statusOf('--stage', 'staging', ...at({ folder }));
	assert.deepEqual([code, status.url], [0, `http://127.0.0.1:${server.port}/staging`]);
	assert.equal((await statusOf(...at({ folder }))).status.state, 'stopped', 'each stage has its own');
});

test('on PostgreSQL it counts the servers', { skip: takesLong }, async () => {
	const here = ['--database', await installedPostgresDatabase()];
	const short = async () => {
		const { code, status } = await statusOf(...here);
		return [code, status.state, status.servers, status.lastBackupAt];
	};
	assert.deepEqual(await short(), [1, 'stopped', 0, null]);
	await using first = await ServeProcess.start(here);
	await using second = await ServeProcess.start(here);
	await eventually('both are counted', async () => (await short())[2] === 2);
	assert.deepEqual(await short(), [0, 'running', 2, null]);
	await first.kill('SIGTERM');
	assert.deepEqual(await short(), [0, 'running', 1, null]);
	assert.equal(((await caskadeJson(['status', '--url', second.url])) as Status).state, 'ready');
});
