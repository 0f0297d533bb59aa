import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { assertMisused, assertRefused, caskade, caskadeJson } from '../../../process.ts';
import { serveHere } from '../../../serve-here.ts';
import { event, temporaryFolder } from '../../../support.ts';

interface Issued {
	id: string;
	key: string;
	client: string;
	plan: string;
}

const issue = async (at: readonly string[], flags: readonly string[] = []) =>
	(await caskadeJson(['key', 'issue', '--client', 'acme', ...flags, ...at])) as Issued;

/** Whether any file of a folder has these bytes anywhere. */
const holds = (folder: string, text: string) =>
	readdirSync(folder, { recursive: true, withFileTypes: true })
		.filter((entry) => entry.isFile())
		.some((entry) => readFileSync(join(entry.parentPath, entry.name)).includes(text));

test('key issue creates a key on the standard plan, or on the named one', async (t) => {
	const at = ['--database', `sqlite:${temporaryFolder(t)}`];
	await caskade(['account', 'create', 'c-a-acme-uk', '--client', 'acme', ...at]);
	await caskade(['plan', 'create', 'large', ...at]);
	const first = await issue(at);
	assert.deepEqual(Object.keys(first), ['id', 'key', 'client', 'name', 'plan', 'scope', 'expiresAt']);
	assert.match(first.key, /^caskade_key_[\w-]{43}$/);
	assert.equal(first.plan, 'standard');
	const second = await issue(at, ['--plan', 'large']);
	assert.equal(second.plan, 'large');
	assert.notEqual(second.key, first.key);
	const third = await issue(at, ['--scope', 'read']);
	assert.deepEqual(
		[first, third].map((key) => (key as { scope?: string }).scope),
		['upload', 'read'],
	);
	assertRefused(await caskade(['key', 'issue', '--client', 'other', ...at]), /There is no client other/);
	assertRefused(
		await caskade(['key', 'issue', '--client', 'acme', '--plan', 'none', ...at]),
		/There is no plan none/,
	);
});

test('a key is shown once: it is in no listing, no log, and no byte of the data folder', async (t) => {
	const folder = temporaryFolder(t);
	const at = ['--database', `sqlite:${folder}`];
	await caskade(['account', 'create', 'c-a-acme-uk', '--client', 'acme', ...at]);
	const { id, key } = await issue(at);
	const secret = key.replace('caskade_key_', '');
	const shown = await caskade(['key', 'issue', '--client', 'acme', ...at]);
	assert.match(
		shown.stdout,
		/\nkey +caskade_key_\S+\n(.+\n)+Save the key now; it cannot be shown again\. It works within a second\.\n$/,
	);

	await using server = await serveHere(at);
	assert.equal((await server.upload(key, { aid: 'c-a-acme-uk', data: [event()] })).status, 201);
	assert.ok(holds(folder, id), 'what is stored is found');
	assert.equal(holds(folder, secret), false);
	await server.stop();
	assert.equal(holds(folder, secret), false);
	assert.equal(server.logged.join().includes(secret), false);
	for (const args of [['key', 'list'], ['usage']])
		assert.equal((await caskade([...args, ...at])).stdout.includes(secret), false);
});

test('a key has a name and an end; key list shows them, and when it was used last', async (t) => {
	const at = ['--database', `sqlite:${temporaryFolder(t)}`];
	await caskade(['account', 'create', 'c-a-acme-uk', '--client', 'acme', ...at]);
	await caskade(['account', 'create', 'c-a-other', '--client', 'other', ...at]);
	await caskade(['plan', 'update', 'standard', '--timeout-ms', '60000', ...at]);
	const list = (...flags: string[]) =>
		caskadeJson(['key', 'list', ...flags, ...at]) as Promise<Record<string, string | null>[]>;
	const named = (await issue(at, ['--name', 'Nightly job', '--expires-in', '90d'])) as unknown as {
		id: string;
		key: string;
		expiresAt: string;
	};
	const reading = await issue(at, ['--scope', 'read']);
	await caskade(['key', 'issue', '--client', 'other', ...at]);
	assert.equal(new Date(Date.parse(named.expiresAt) - 90 * 86_400_000).getUTCDate(), new Date().getUTCDate());
	const beganMs = Date.now();
	await using server = await serveHere(at);
	assert.equal((await server.upload(named.key, { aid: 'c-a-acme-uk', data: [event()] })).status, 201);
	const report = `${server.url}/reports/attribution?aid=c-a-acme-uk`;
	assert.equal((await fetch(report, { headers: { 'x-api-key': reading.key } })).status, 200);
	await server.stop();
	const [first, second, third] = await list();
	assert.deepEqual(
		[first?.name, first?.expiresAt, second?.name, third?.lastUsedAt],
		['Nightly job', named.expiresAt, null, null],
	);
	for (const used of [first, second]) assert.ok(Date.parse(String(used?.lastUsedAt)) >= beganMs);
	assert.deepEqual(
		(await list('--client', 'other')).map(({ client }) => client),
		['other'],
	);
	assertRefused(await caskade(['key', 'list', '--client', 'none', ...at]), /There is no client none/);
	for (const time of ['0d', 'soon', '2y'])
		assertMisused(
			await caskade(['key', 'issue', '--client', 'acme', '--expires-in', time, ...at]),
			/must be a duration such as/,
		);
});

test('key list shows every key; key revoke is final', async (t) => {
	const at = ['--database', `sqlite:${temporaryFolder(t)}`];
	await caskade(['account', 'create', 'c-a-acme-uk', '--client', 'acme', ...at]);
	assert.match((await caskade(['key', 'list', ...at])).stdout, /^No keys yet/);
	const { id } = await issue(at);
	const other = await issue(at);
	const revoked = (await caskadeJson(['key', 'revoke', id, ...at])) as { revokedAt: string };
	assert.match(revoked.revokedAt, /^\d{4}-.*Z$/);
	assert.deepEqual(await caskadeJson(['key', 'revoke', id, ...at]), revoked);
	const keys = (await caskadeJson(['key', 'list', ...at])) as { id: string; revokedAt: string | null }[];
	assert.deepEqual(
		new Map(keys.map((key) => [key.id, key.revokedAt])),
		new Map([
			[id, revoked.revokedAt],
			[other.id, null],
		]),
	);
	assertRefused(await caskade(['key', 'revoke', 'k_none', ...at]), /There is no key k_none/);
});
