import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { commandLineUser } from '../../../../src/kit/cli/act-command.ts';
import { engines } from '../../../core/store/engines.ts';
import { assertMisused, assertRefused, caskade, caskadeJson, ServeProcess } from '../../../process.ts';
import { takesLong } from '../../../quick.ts';
import { temporaryFolder } from '../../../support.ts';

interface Made {
	email: string;
	link: string;
	expiresAt: string;
}

const there = ['--console-url', 'http://127.0.0.1:8081'];

test('user create prints a link once, for fifteen minutes, and keeps its hash alone', async (t) => {
	const folder = temporaryFolder(t);
	const at = ['--database', `sqlite:${folder}`];
	await caskade(['account', 'create', 'c-a-one', '--client', 'acme', ...at]);
	const create = ['user', 'create', 'Ada@Example.com', '--role', 'admin', ...at];
	assertRefused(await caskade(create), /No running server tells where its console is.*give --console-url/);
	const made = (await caskadeJson([...create, '--console-url', 'http://127.0.0.1:9081'])) as Made;
	assert.deepEqual(Object.keys(made), ['email', 'link', 'expiresAt']);
	assert.equal(made.email, 'ada@example.com');
	assert.match(made.link, /^http:\/\/127\.0\.0\.1:9081\/console\/sign-in\?link=[\w-]{43}$/);
	const minutes = (Date.parse(made.expiresAt) - Date.now()) / 60_000;
	assert.ok(minutes > 14 && minutes <= 15);
	const shown = await caskade([
		...['user', 'link', 'ada@example.com', '--console-url', 'https://console.example.com', ...at],
	]);
	assert.match(
		shown.stdout,
		/^email +ada@example\.com\nlink +https:\/\/console\.example\.com\/console\/sign-in\?/,
	);
	const token = new URL(made.link).searchParams.get('link') as string;
	for (const file of readdirSync(folder, { recursive: true, withFileTypes: true }))
		if (file.isFile()) assert.equal(readFileSync(join(file.parentPath, file.name)).includes(token), false);
});

test('roles are given on all accounts or on some, and taken away; an admin is one of all', async (t) => {
	const at = ['--database', `sqlite:${temporaryFolder(t)}`];
	for (const aid of ['c-a-one', 'c-a-two'])
		await caskade(['account', 'create', aid, '--client', 'acme', ...at]);
	const create = (...flags: string[]) =>
		caskade(['user', 'create', 'bob@example.com', ...flags, ...there, ...at]);
	assertMisused(await create(), /--role <role> is missing/);
	assertMisused(await create('--role', 'root'), /Allowed choices are viewer, analyst, operator, admin/);
	assertRefused(await create('--role', 'admin', '--account', 'c-a-one'), /An admin is one of all accounts/);
	assertRefused(await create('--role', 'viewer', '--account', 'c-a-none'), /There is no account c-a-none/);
	assert.equal((await create('--role', 'viewer', '--account', 'c-a-one', 'c-a-two')).code, 0);
	assertRefused(await create('--role', 'viewer'), /exists already; 'caskade user link bob@example\.com'/);
	const grants = async (...args: string[]) =>
		((await caskadeJson([...args, ...at])) as { grants: unknown }).grants;
	const bob = 'bob@example.com';
	assert.deepEqual(await grants('user', 'grant', bob, '--role', 'operator', '--account', 'c-a-two'), [
		{ aid: 'c-a-one', role: 'viewer' },
		{ aid: 'c-a-two', role: 'operator' },
	]);
	assert.deepEqual(await grants('user', 'revoke', bob, '--account', 'c-a-one'), [
		{ aid: 'c-a-two', role: 'operator' },
	]);
	assert.match((await caskade(['user', 'list', ...at])).stdout, /bob@example\.com +operator of c-a-two/);
	assertMisused(await caskade(['user', 'link', 'bob', ...at]), /an email address such as ada@example\.com/);
	assertMisused(
		await caskade(['user', 'link', bob, '--console-url', 'http://console.example.com', ...at]),
		/must begin with https:\/\/ unless it is on this machine/,
	);
});

test('a person is signed out, removed, and what commands did to them is in the audit log', async (t) => {
	const at = ['--database', `sqlite:${temporaryFolder(t)}`];
	await caskade(['account', 'create', 'c-a-one', '--client', 'acme', ...at]);
	const email = 'ada@example.com';
	await caskade(['user', 'create', email, '--role', 'analyst', ...there, ...at]);
	assert.match((await caskade(['user', 'sessions', email, ...at])).stdout, /is not signed in/);
	assert.deepEqual(await caskadeJson(['user', 'sessions', email, '--end', ...at]), { email, ended: 0 });
	await caskade(['user', 'link', email, '--remove-second-factor', ...there, ...at]);
	assert.deepEqual(await caskadeJson(['user', 'remove', email, ...at]), { removed: email });
	assertRefused(await caskade(['user', 'remove', email, ...at]), /There is no user ada@example\.com/);
	const entries = (await caskadeJson(['audit', 'list', '--about', email, ...at])) as {
		who: string;
		action: string;
	}[];
	assert.deepEqual(
		entries.map(({ who, action }) => [who, action]),
		[
			[commandLineUser(), 'user removed'],
			[commandLineUser(), 'link made'],
			[commandLineUser(), 'second factor removed'],
			[commandLineUser(), 'signed out everywhere'],
			[commandLineUser(), 'user created'],
		],
	);
	assert.match((await caskade(['audit', 'list', '--user', 'bob@example.com', ...at])).stdout, /Nothing yet/);
});

for (const engine of engines)
	test(`a link names the console of the running server, on ${engine.name}`, {
		skip: engine.name === 'postgres' && takesLong,
	}, async (t) => {
		const at = ['--database', await engine.installedAddress(t)];
		await using server = await ServeProcess.start(at);
		const [, origin] = await server.printed(/console: (http:\S+)\/console\//);
		const create = ['user', 'create', 'ada@example.com', '--role', 'admin', ...at];
		const made = (await caskadeJson(create)) as Made;
		assert.equal(new URL(made.link).origin, origin);
		assert.notEqual(new URL(made.link).port, '8081');
		assert.equal((await fetch(made.link)).status, 200);
		if (engine.name !== 'postgres') return;
		await using other = await ServeProcess.start(at);
		const [, otherOrigin] = await other.printed(/console: (http:\S+)\/console\//);
		const refused = await caskade(['user', 'link', 'ada@example.com', ...at]);
		assertRefused(refused, /consoles of the running servers are at .*: choose one with --console-url/);
		for (const known of [origin, otherOrigin]) assert.ok(refused.stderr.includes(known as string));
	});
