import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Command } from 'commander';
import { openStore } from '../../../src/assembly/open-store.ts';
import type { UsagePlan } from '../../../src/core/domain/usage-plan.ts';
import { subscriptionEvents } from '../../../src/core/store/account/reading/stored-events.ts';
import type { OpenStore } from '../../../src/core/store/store.ts';
import { serveOptions } from '../../../src/kit/config.ts';
import { eventually } from '../../eventually.ts';
import { freePort } from '../../free-port.ts';
import { UploadLoad } from '../../load.ts';
import {
	assertMisused,
	assertRefused,
	caskade,
	caskadeJson,
	caskadeWithin,
	emptyInstallation,
	mainPath,
	ServeProcess,
	TestProcess,
	withinASecond,
} from '../../process.ts';
import { quick, takesLong } from '../../quick.ts';
import { connectTo, uploadHead } from '../../raw-http.ts';
import { serveHere } from '../../serve-here.ts';
import { addClient, event, temporaryFolder } from '../../support.ts';

interface Folder {
	readonly at: readonly string[];
	readonly store: OpenStore;
	readonly aid: string;
	readonly key: string;
	stored(): Promise<string[]>;
}

/** A data folder with a client `acme`, whose key has roomy limits. */
async function folderWithClient(t: TestContext, plan: Partial<UsagePlan> = {}): Promise<Folder> {
	const address = `sqlite:${temporaryFolder(t)}`;
	const store = await openStore(address);
	t.after(() => store.close());
	const { aid, key } = await addClient(store, { plan });
	return {
		at: ['--database', address],
		store,
		aid,
		key,
		async stored() {
			const { id } = await store.control.account(aid);
			const events = Array.fromAsync(subscriptionEvents(store, id));
			return (await events).map(({ tid }) => tid);
		},
	};
}

/** A port that is taken for the time of a test. */
async function takenPort(t: TestContext): Promise<number> {
	const server = createServer();
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	t.after(() => server.close());
	return (server.address() as { port: number }).port;
}

test('--demo on an empty folder prints a curl line that is answered with 201, and never does so again', async (t) => {
	const at = ['--database', `sqlite:${join(temporaryFolder(t), 'data')}`];
	{
		await using server = await ServeProcess.start(['--demo', ...at]);
		const [line] = await server.printed(/^curl .+$/m);
		await using curl = new TestProcess('bash', ['-c', line]);
		const { stdout } = await curl.ended;
		assert.match(stdout, /^HTTP\/1\.1 201 Created\r\n/);
		assert.ok(stdout.endsWith('{"message":"Subscription created successfully.","validationErrors":null}'));
		assert.ok(server.stdout.includes(`bin/caskade demo --database '${at[1]}'\n`));
		assert.ok(server.stdout.includes(` All data is in ${at[1]?.replace('sqlite:', '')}.\n`));
		const { stdout: events } = await caskade(['events', 'c-a-demo-local', ...at]);
		assert.match(events, /^\{"tid":"order-1001","subid":"sub-77",.*\}\n$/);
	}
	await using again = await ServeProcess.start(['--demo', ...at]);
	const { stdout, code } = await again.kill('SIGTERM');
	assert.equal(code, 0);
	assert.doesNotMatch(stdout, /curl/);
	assert.equal(((await caskadeJson(['key', 'list', ...at])) as unknown[]).length, 1);
});

test('--open opens the console, with --demo signed in, where there is a screen', async (t) => {
	const folder = temporaryFolder(t);
	const opened = join(folder, 'opened');
	writeFileSync(join(folder, 'xdg-open'), `#!/bin/sh\necho "$1" > ${opened}\n`, { mode: 0o755 });
	const at = ['--open', '--database', `sqlite:${join(folder, 'data')}`];
	const screen = { DISPLAY: ':99', WAYLAND_DISPLAY: '', PATH: `${folder}:/usr/bin:/bin` };
	const page = async () => {
		await eventually('opened', () => existsSync(opened) && readFileSync(opened, 'utf8').endsWith('\n'), 5000);
		const url = readFileSync(opened, 'utf8').trim();
		rmSync(opened);
		return url;
	};
	{
		await using server = await ServeProcess.start(['--demo', ...at], screen);
		const link = await page();
		assert.ok(server.stdout.includes(`\n\n${link}\n`), link);
		const answer = await fetch(link, { redirect: 'manual' });
		assert.ok(answer.status < 400, String(answer.status));
	}
	// It says the same, however it was started.
	if (quick) return;
	{
		await using _plain = await ServeProcess.start(at, screen);
		assert.match(await page(), /^http:\/\/127\.0\.0\.1:\d+\/console\/$/);
	}
	{
		await using bare = await ServeProcess.start(at, { ...screen, PATH: '/nonexistent' });
		await bare.printed(/The console could not be opened: there is no xdg-open\.\n/);
	}
	await using remote = await ServeProcess.start(at, { ...screen, DISPLAY: '' });
	await remote.printed(/There is no screen here on which the console could be opened\.\n/);
});

test('--demo creates nothing in a folder that has clients, and without it a server says how to begin', {
	skip: takesLong,
}, async (t) => {
	const { at, store } = await folderWithClient(t);
	await using server = await ServeProcess.start(['--demo', ...at]);
	assert.match((await server.kill('SIGTERM')).stdout, /^Caskade serves at .*\n$/);
	assert.deepEqual(
		(await store.control.accounts()).map(({ client }) => client),
		['acme'],
	);

	const empty = ['--database', `sqlite:${temporaryFolder(t)}`];
	await using plain = await ServeProcess.start(empty);
	const { stdout } = await plain.kill('SIGTERM');
	assert.deepEqual(await caskadeJson(['account', 'list', ...empty]), []);
	// Instead, it prints the commands that do.
	const printed = stdout.match(/(?<=^bin\/caskade ).+$/gm) ?? [];
	assert.equal(printed.length, 3);
	await using _again = await ServeProcess.start(empty);
	for (const line of printed) await caskadeJson(line.replaceAll("'", '').split(' '));
	assert.equal(((await caskadeJson(['key', 'list', ...empty])) as unknown[]).length, 1);
});

test('a second server on the same folder is refused, and the first keeps running', async (t) => {
	const { at, aid, key } = await folderWithClient(t);
	await using first = await ServeProcess.start(at);
	const second = await caskadeWithin(['serve', '--port', '0', ...at]);
	assertRefused(
		second,
		new RegExp(`Another 'caskade serve' runs on the data folder .*, at ${first.url}; stop it first, or`),
	);
	assert.equal((await first.upload(key, { aid, data: [event()] })).status, 201);
	await first.kill('SIGTERM');
	await using third = await serveHere(at);
	assert.equal((await third.upload(key, { aid, data: [event()] })).status, 201);
});

test('the log and /healthz name the same version, commit and schemas', async (t) => {
	const { at } = await folderWithClient(t);
	await using server = await ServeProcess.start(at);
	const healthy = await (await fetch(`${server.url}/healthz`)).json();
	const { stderr } = await server.kill('SIGTERM');
	const listening = stderr.split('\n').find((line) => line.includes('"msg":"listening"')) ?? '{}';
	const fields = ({ version, commit, schemas }: Record<string, unknown>) => ({ version, commit, schemas });
	assert.deepEqual(fields(JSON.parse(listening)), fields(healthy as Record<string, unknown>));
	assert.match(JSON.parse(listening).version, /^\d+\.\d+\.\d+$/);
});

test('a place where no folder can be created is named', {
	skip: takesLong || !existsSync('/proc/self'),
}, async (t) => {
	const at = await emptyInstallation(t);
	// In processes of their own: a recursion that does not end must fail the test.
	const refusal = async (...args: string[]) => {
		await using command = new TestProcess(process.execPath, [mainPath, ...args]);
		const ended = await command.endsWithin(10_000);
		assertRefused(ended, /^caskade: No folder can be created in \/proc; name another place\.\n$/);
	};
	for (const place of ['/proc/data', '/proc/a/data/'])
		await refusal('serve', '--port', '0', '--database', `sqlite:${place}`);
	await refusal('account', 'create', 'c-a-x', '--client', 'x', '--database', 'sqlite:/proc/data');
	await refusal('backup', '/proc/backup', ...at);
	await refusal('copy', '--from', at[1] as string, '--to', 'sqlite:/proc/data');
});

test('a port that is in use is refused, for operations and for metrics', async (t) => {
	const { at } = await folderWithClient(t);
	const port = await takenPort(t);
	const [operations, metrics] = [
		await caskadeWithin(['serve', '--port', String(port), ...at]),
		await caskadeWithin(['serve', '--port', '0', '--metrics-port', String(port), ...at]),
	];
	const sentence = (flag: string) =>
		new RegExp(`^caskade: Port ${port} on 127.0.0.1 is in use; choose another with ${flag}\\.\n$`);
	assert.match(operations.stderr, sentence('--port'));
	assert.match(metrics.stderr, sentence('--metrics-port'));
	assert.deepEqual(
		[operations, metrics].map(({ code, stdout }) => ({ code, stdout })),
		[
			{ code: 1, stdout: '' },
			{ code: 1, stdout: '' },
		],
	);
	await using _ = await serveHere(at);
});

test('keys do not cross a network in the clear: other addresses need --behind-proxy', async (t) => {
	const folder = temporaryFolder(t);
	const at = ['--database', `sqlite:${join(folder, 'data')}`];
	for (const host of ['0.0.0.0', '::', '192.0.2.1', ''])
		assertRefused(
			await caskadeWithin(['serve', '--port', '0', '--host', host, ...at]),
			/--host .* would accept API keys without TLS\. .*--behind-proxy/,
		);
	await using server = await serveHere(['--host', '0.0.0.0', '--behind-proxy', ...at]);
	assert.equal((await fetch(`http://127.0.0.1:${server.port}/healthz`)).status, 200);
	assertRefused(
		await caskadeWithin(['serve', '--host', '192.0.2.1', '--behind-proxy', '--database', `sqlite:${folder}`]),
		/192\.0\.2\.1 is not an address of this machine/,
	);
});

test('proxies in front are a number or networks; the flag alone means one', async (t) => {
	const given = (...args: string[]) => {
		const command = new Command('serve');
		for (const option of serveOptions()) command.addOption(option);
		return command.parse(args, { from: 'user' }).opts().behindProxy;
	};
	assert.equal(given(), undefined);
	assert.equal(given('--behind-proxy', '--port', '0'), 1);
	assert.equal(given('--behind-proxy', '2'), 2);
	assert.equal(given('--behind-proxy', '0'), 0);
	assert.deepEqual(given('--behind-proxy', '10.0.0.1, fd00::/8'), ['10.0.0.1', 'fd00::/8']);
	for (const [value, proxies] of [
		['', 0],
		['false', 0],
		['TRUE', 1],
		['3', 3],
		['192.168.0.0/16', ['192.168.0.0/16']],
	] as const) {
		process.env.CASKADE_BEHIND_PROXY = value;
		assert.deepEqual(given(), proxies, value);
	}
	delete process.env.CASKADE_BEHIND_PROXY;
	const at = ['--database', `sqlite:${temporaryFolder(t)}`];
	for (const value of [
		'11',
		'-1',
		'all',
		'loopback',
		'10.0.0.0/33',
		'10.0.0.0/0',
		'10.0.0.0/8,',
		'10.0.0',
		'12ab',
	])
		assertMisused(
			await caskadeWithin(['serve', `--behind-proxy=${value}`, ...at]),
			/It must be the number of proxies, at most 10, or their networks/,
		);
});

test('changes by commands reach a running server within a second', async (t) => {
	const { at, aid } = await folderWithClient(t);
	await using server = await serveHere(at);
	const status = async (key: string) => (await server.upload(key, { aid, data: [event()] })).status;

	await caskade(['plan', 'create', 'fast', '--rate', '100000', '--burst', '100000', ...at]);
	const { id, key } = (await caskadeJson(['key', 'issue', '--client', 'acme', '--plan', 'fast', ...at])) as {
		id: string;
		key: string;
	};
	await withinASecond('a new key', async () => (await status(key)) === 201);
	await caskade(['account', 'disable', aid, ...at]);
	await withinASecond('a disabled account', async () => (await status(key)) === 400);
	await caskade(['account', 'enable', aid, ...at]);
	await withinASecond('an enabled account', async () => (await status(key)) === 201);
	await caskade(['plan', 'update', 'fast', '--rate', '0.001', '--burst', '1', ...at]);
	await withinASecond('a changed plan', async () => (await status(key)) === 429);
	await caskade(['key', 'revoke', id, ...at]);
	await withinASecond('a revoked key', async () => (await status(key)) === 403);
});

test('metrics have a port of their own', async (t) => {
	const { at, aid, key } = await folderWithClient(t);
	const port = await freePort();
	await using server = await serveHere(['--metrics-port', String(port), ...at]);
	const data = [event(), event(), event()];
	await server.upload(key, { aid, data });
	await server.upload(key, { aid, data });
	const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
	assert.match(answer.headers.get('content-type') ?? '', /^text\/plain/);
	const text = await answer.text();
	assert.match(text, /^caskade_events_stored_total 3$/m);
	assert.match(text, /^caskade_events_duplicate_total 3$/m);
	assert.match(text, /^caskade_http_requests_total\{operation="uploadSubscription",status="201"\} 2$/m);
	for (const secret of [key, aid, 'acme']) assert.equal(text.includes(secret), false, secret);
	assert.equal((await fetch(`http://127.0.0.1:${port}/subscription`, { method: 'POST' })).status, 404);
	assert.equal((await fetch(`${server.url}/metrics`)).status, 404);
});

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
	test(`${signal} under load: exactly the uploads answered with 201 are stored, exit code 0`, {
		skip: signal !== 'SIGTERM' && takesLong,
	}, async (t) => {
		const { at, aid, key, stored } = await folderWithClient(t);
		await using server = await ServeProcess.start(at);
		const load = new UploadLoad({ url: server.url, key, aid, connections: 32 });
		await load.answered(300);
		const { code, stderr } = await server.kill(signal);
		await load.over();
		assert.equal(code, 0);
		assert.match(stderr, /"msg":"stopped"\}\n$/);

		const acknowledged = load.withStatus(201);
		assert.ok(acknowledged.length >= 300);
		// A client may send just as its idle connection is closed; those uploads were never received.
		assert.equal(load.withStatus(undefined).length + acknowledged.length, load.sent.length);
		assert.ok(
			acknowledged.every(({ whole }) => whole),
			'no answer is cut off',
		);
		assert.deepEqual((await stored()).sort(), acknowledged.flatMap(({ tids }) => tids).sort());
	});

test('requests that have arrived by SIGTERM get their answers, and none is taken after it', async (t) => {
	const { at, aid, key, stored } = await folderWithClient(t);
	await using server = await ServeProcess.start(at);
	const uploads = await Promise.all(
		Array.from({ length: 20 }, async () => {
			const data = [event(), event()];
			const body = JSON.stringify({ aid, data });
			const connection = await connectTo(t, server.url);
			// The server asks for the body: it knows of the request.
			connection.send(
				uploadHead({ 'x-api-key': key, 'content-length': body.length, expect: '100-continue' }),
			);
			assert.equal((await connection.answer()).status, 100);
			return { connection, body, tids: data.map(({ tid }) => tid as string) };
		}),
	);
	server.child.kill('SIGTERM');
	await withinASecond('nobody else is let in', () =>
		fetch(`${server.url}/healthz`).then(
			() => false,
			() => true,
		),
	);
	for (const { connection, body } of uploads) connection.send(body);
	for (const { connection } of uploads) assert.equal((await connection.answer()).status, 201);
	assert.equal((await server.ended).code, 0);
	assert.deepEqual((await stored()).sort(), uploads.flatMap(({ tids }) => tids).sort());
});

test('a slow body in flight when a server stops is answered with 504 within its deadline, and nothing of it is stored', async (t) => {
	const timeoutMs = 1500;
	const { at, aid, key, stored } = await folderWithClient(t, { timeoutMs });
	await using server = await serveHere(at);
	const body = JSON.stringify({ aid, data: [event()] });
	const connection = await connectTo(t, server.url);
	connection.send(uploadHead({ 'x-api-key': key, 'content-length': body.length, expect: '100-continue' }));
	await connection.answer();
	connection.send(body.slice(0, -1));
	const stopped = server.stop();
	const answer = await connection.answer();
	assert.deepEqual(
		{ status: answer.status, body: answer.body },
		{ status: 504, body: '{"message":"Endpoint request timed out"}' },
	);
	connection.send(body.slice(-1));
	await stopped;
	assert.deepEqual(await stored(), []);
});

test('neither half a header nor an idle connection keeps a stopping server alive', async (t) => {
	const { at, aid, key } = await folderWithClient(t, { timeoutMs: 300 });
	await using server = await serveHere(at);
	const [half, idle] = [await connectTo(t, server.url), await connectTo(t, server.url)];
	half.send('POST /subscription HTTP/1.1\r\nhost: x');
	const body = JSON.stringify({ aid, data: [event()] });
	idle.send(uploadHead({ 'x-api-key': key, 'content-length': body.length }), body);
	assert.equal((await idle.answer()).status, 201);
	await server.stop();
	// It would be answered after ten seconds.
	await assert.rejects(half.answer(), /ended before an answer; received: $/);
});

test('a second signal ends a server at once', { skip: takesLong }, async (t) => {
	const { at, key } = await folderWithClient(t);
	await using server = await ServeProcess.start(at);
	const connection = await connectTo(t, server.url);
	connection.send(uploadHead({ 'x-api-key': key, 'content-length': 10, expect: '100-continue' }));
	await connection.answer();
	server.child.kill('SIGTERM');
	await withinASecond('it has begun to stop', () => server.stderr.includes('"stopping"'));
	assert.equal((await server.kill('SIGTERM')).code, 1, 'it waits for no deadline');
});

test('a server that has ended leaves only its databases', async (t) => {
	const { at, aid, key } = await folderWithClient(t);
	const folder = (at[1] as string).replace('sqlite:', '');
	await using server = await serveHere(at);
	await server.upload(key, { aid, data: [event()] });
	assert.ok(existsSync(join(folder, 'accounts', '1.sqlite-wal')));
	await server.stop();
	assert.deepEqual(readdirSync(join(folder, 'accounts')), ['1.sqlite']);
});
