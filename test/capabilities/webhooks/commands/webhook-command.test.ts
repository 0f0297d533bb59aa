import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { selfSignedPair } from '../../../../src/core/http/self-signed.ts';
import { assertMisused, assertRefused, caskade, caskadeJson, caskadeProcess } from '../../../process.ts';
import { temporaryFolder } from '../../../support.ts';
import { Receiver } from '../receiver.ts';

const aid = 'c-a-acme-uk';

interface Created {
	readonly id: string;
	readonly secret: string;
}

async function account(t: TestContext): Promise<string[]> {
	const at = ['--database', `sqlite:${temporaryFolder(t)}`];
	await caskadeJson(['account', 'create', aid, '--client', 'acme', ...at]);
	return at;
}

function create(at: readonly string[], url: string, ...more: string[]): Promise<unknown> {
	const flags = ['--url', url, '--events', 'segment.entered,segment.left', ...more];
	return caskadeJson(['webhook', 'create', aid, ...flags, ...at]);
}

test('a webhook is created, listed without its secret, rotated, disabled, enabled and deleted', async (t) => {
	const at = await account(t);
	const { id, secret } = (await create(at, 'https://crm.example/hooks')) as Created;
	assert.match(secret, /^whsec_[A-Za-z0-9+/]{32}$/);
	const listed = await caskade(['webhook', 'list', aid, '--json', ...at]);
	assert.ok(!listed.stdout.includes('whsec_'));
	const [first] = JSON.parse(listed.stdout);
	assert.equal(first.id, id);
	assert.deepEqual(first.events, ['segment.entered', 'segment.left']);
	const rotated = (await caskadeJson(['webhook', 'rotate', aid, id, ...at])) as Created;
	assert.notEqual(rotated.secret, secret);
	const disabled = await caskadeJson(['webhook', 'disable', aid, id, ...at]);
	assert.equal((disabled as { disabledWhy: string }).disabledWhy, 'operator');
	const replay = ['webhook', 'replay', aid, id, '--since', '2026-01-01', ...at];
	assertRefused(await caskade(replay), /is disabled/);
	const enabled = await caskadeJson(['webhook', 'enable', aid, id, ...at]);
	assert.equal((enabled as { disabledAt: string | null }).disabledAt, null);
	assert.deepEqual(await caskadeJson(replay), { webhook: id, messages: 0 });
	assert.deepEqual(await caskadeJson(['webhook', 'delete', aid, id, ...at]), { deleted: id });
	assertRefused(await caskade(['webhook', 'rotate', aid, id, ...at]), /has no webhook/);
	assert.match((await caskade(['webhook', 'list', aid, ...at])).stdout, /No webhooks/);
});

test('webhook update changes what is set, and keeps the secret', async (t) => {
	const at = await account(t);
	const { id, secret } = (await create(at, 'https://crm.example/hooks')) as Created;
	const update = (...flags: string[]) => ['webhook', 'update', aid, id, ...flags, ...at];
	const [before] = (await caskadeJson(['webhook', 'list', aid, ...at])) as object[];
	const url = 'https://crm.example/other';
	assert.deepEqual(await caskadeJson(update('--url', url)), { ...before, url });
	const events = ['goal.reached'];
	const changed = await caskadeJson(update('--events', 'goal.reached', '--with-cid'));
	assert.deepEqual(changed, { ...before, url, events, withCid: true });
	assert.deepEqual(await caskadeJson(update('--no-with-cid')), { ...before, url, events });
	assert.match((await caskade(update('--url', url))).stdout, /^url +https:\/\/crm\.example\/other$/m);
	assertRefused(await caskade(update('--url', 'https://10.0.0.1/')), /not public/);
	await caskadeJson(update('--url', 'http://10.0.0.1/', '--allow-private'));
	assertRefused(await caskade(update('--no-allow-private')), /must begin with https/);
	assertRefused(
		await caskade(update()),
		/nothing to change: set --url, --events, --with-cid or --allow-private\.$/m,
	);
	assertRefused(
		await caskade(['webhook', 'update', aid, 'wh_none', '--url', url, ...at]),
		/has no webhook wh_none/,
	);
	const rotated = (await caskadeJson(['webhook', 'rotate', aid, id, ...at])) as Created;
	assert.notEqual(rotated.secret, secret);
});

test('a test message is sent once, and is among the deliveries', async (t) => {
	const at = await account(t);
	await using closing = new AsyncDisposableStack();
	const receiver = await Receiver.start({ closing });
	const { id, secret } = (await create(at, receiver.url, '--allow-private')) as Created;
	receiver.secret = secret;
	const tested = (await caskadeJson(['webhook', 'test', aid, id, ...at])) as { id: string; status: number };
	assert.equal(tested.status, 204);
	assert.deepEqual(receiver.problems, []);
	assert.deepEqual(receiver.types, ['webhook.test']);
	receiver.answer = () => 500;
	const failed = await caskade(['webhook', 'test', aid, id, ...at]);
	assert.equal(failed.code, 1);
	assert.match(failed.stdout, /answered 500/);
	const deliveries = (await caskadeJson(['webhook', 'deliveries', aid, ...at])) as {
		state: string;
		attempts: number;
		nextAttemptAt: string | null;
	}[];
	assert.deepEqual(
		deliveries.map(({ state }) => state),
		['failed', 'delivered'],
	);
	assert.deepEqual(
		deliveries.map(({ attempts, nextAttemptAt }) => [attempts, nextAttemptAt]),
		[
			[1, null],
			[1, null],
		],
	);
	const only = ['webhook', 'deliveries', aid, '--webhook', id, '--failed', ...at];
	assert.equal(((await caskadeJson(only)) as unknown[]).length, 1);
});

test('a receiver with a self-signed certificate is refused with what helps, and that helps', async (t) => {
	const at = await account(t);
	const pair = await selfSignedPair();
	const receiver = createServer(pair, (request, response) =>
		request.resume().on('end', () => response.end()),
	);
	receiver.listen(0, '127.0.0.1');
	await once(receiver, 'listening');
	t.after(() => receiver.close());
	const { port } = receiver.address() as { port: number };
	const { id } = (await create(at, `https://127.0.0.1:${port}/`, '--allow-private')) as Created;
	const test = ['webhook', 'test', aid, id, '--json', ...at];
	const refused = JSON.parse((await caskade(test)).stdout) as { problem: string };
	assert.equal(
		refused.problem,
		'the certificate is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT): NODE_EXTRA_CA_CERTS names a file of further authorities',
	);
	const file = join(temporaryFolder(t), 'receiver.pem');
	writeFileSync(file, pair.cert);
	const { status } = JSON.parse((await caskadeProcess(test, { NODE_EXTRA_CA_CERTS: file })).stdout);
	assert.equal(status, 200);
});

test('a redirect is not followed', async (t) => {
	const at = await account(t);
	await using closing = new AsyncDisposableStack();
	const receiver = await Receiver.start({ closing });
	receiver.answer = () => (response) => response.writeHead(307, { location: receiver.url }).end();
	const { id } = (await create(at, receiver.url, '--allow-private')) as Created;
	assert.match((await caskade(['webhook', 'test', aid, id, ...at])).stdout, /answered 307/);
	assert.equal(receiver.received.length, 1);
});

test('private addresses, plain http and unknown events are refused', async (t) => {
	const at = await account(t);
	const tryUrl = (url: string) =>
		caskade(['webhook', 'create', aid, '--url', url, '--events', 'goal.reached', ...at]);
	assertRefused(await tryUrl('http://crm.example/'), /must begin with https/);
	for (const url of ['https://127.1/', 'https://[::ffff:10.0.0.1]/', 'https://169.254.169.254/'])
		assertRefused(await tryUrl(url), /not public/);
	assertMisused(await tryUrl('ftp://crm.example/'), /must be a URL/);
	assertMisused(await tryUrl('https://user:word@crm.example/'), /without a user name/);
	const misspelt = ['webhook', 'create', aid, '--url', 'https://crm.example/', '--events', 'segment.entred'];
	assertMisused(await caskade([...misspelt, ...at]), /must be a list of segment.entered/);
});
