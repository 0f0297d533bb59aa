import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { freePort } from '../../free-port.ts';
import {
	assertMisused,
	assertRefused,
	caskade,
	caskadeWithin,
	emptyInstallation,
	mainPath,
	ServeProcess,
	TestProcess,
} from '../../process.ts';
import { takesLong } from '../../quick.ts';
import { temporaryFolder } from '../../support.ts';

const oldNode = '/usr/bin/node';

/** The major version of a Node, or undefined where there is none at this path. */
async function majorOf(node: string): Promise<number | undefined> {
	if (!existsSync(node)) return undefined;
	return Number.parseInt((await new TestProcess(node, ['-p', 'process.versions.node']).ended).stdout, 10);
}

test('settings can be set in the environment', async (t) => {
	const folder = temporaryFolder(t);
	const environment = { CASKADE_DATABASE: `sqlite:${folder}`, CASKADE_STAGE: 'staging', CASKADE_JSON: '1' };
	const { stdout } = await caskade(['account', 'create', 'c-a-x', '--client', 'acme'], environment);
	assert.equal(JSON.parse(stdout).client, 'acme');
	assert.equal(existsSync(join(folder, 'stages/staging/control.sqlite')), true);
});

test('what a command acts on is not taken from the environment', async (t) => {
	const at = ['--database', `sqlite:${temporaryFolder(t)}`];
	await caskade(['account', 'create', 'c-a-x', '--client', 'acme', ...at]);
	assertMisused(
		await caskade(['webhook', 'create', 'c-a-x', '--events', 'segment.entered', ...at], {
			CASKADE_URL: 'https://api.example.com',
		}),
		/--url <url> is missing/,
	);
	assert.deepEqual(JSON.parse((await caskade(['webhook', 'list', 'c-a-x', '--json', ...at])).stdout), []);
	assertRefused(
		await caskade(['visitor', 'erase', 'c-a-x', ...at], { CASKADE_CID: 'customer-42' }),
		/Name either a visitor, or a customer with --cid/,
	);
	assertMisused(
		await caskade(['key', 'issue', ...at], { CASKADE_CLIENT: 'acme' }),
		/--client <name> is missing/,
	);
});

test('the flag takes precedence over the environment', async (t) => {
	const folder = temporaryFolder(t);
	const environment = { CASKADE_DATABASE: `sqlite:${join(folder, 'environment')}` };
	const flags = ['--database', `sqlite:${join(folder, 'flag')}`, '--client', 'x'];
	assert.equal((await caskade(['account', 'create', 'c-a-x', ...flags], environment)).code, 0);
	assert.equal(existsSync(join(folder, 'flag')), true);
	assert.equal(existsSync(join(folder, 'environment')), false);
});

test('the variable of a flag without a value is on or off, and nothing else', async (t) => {
	const at = await emptyInstallation(t);
	const usage = async (value: string) => (await caskade(['usage', ...at], { CASKADE_JSON: value })).stdout;
	for (const stdout of await Promise.all(['1', 'true', 'YES', 'on'].map(usage))) assert.equal(stdout, '[]\n');
	for (const stdout of await Promise.all(['', '0', 'false', 'no', 'OFF'].map(usage)))
		assert.match(stdout, /^No keys/);
	assertRefused(
		await caskade(['usage', ...at], { CASKADE_JSON: 'maybe' }),
		/CASKADE_JSON must be true or false/,
	);
	assertRefused(
		await caskadeWithin(['serve', '--host', '0.0.0.0', '--port', '0', ...at], {
			CASKADE_BEHIND_PROXY: 'false',
		}),
		/--behind-proxy/,
	);
});

test('serve listens where the environment says, unless a flag says otherwise', {
	skip: takesLong,
}, async (t) => {
	const port = await freePort();
	const environment = {
		CASKADE_DATABASE: `sqlite:${temporaryFolder(t)}`,
		CASKADE_HOST: '127.0.0.2',
		CASKADE_PORT: String(port),
		CASKADE_LOG_LEVEL: 'silent',
		CASKADE_DEMO: 'true',
	};
	{
		await using server = new TestProcess(process.execPath, [mainPath, 'serve'], environment);
		await server.printed(new RegExp(`serves at http://127\\.0\\.0\\.2:${port} `));
		await server.printed(/curl -i/);
		assert.equal(server.stderr, '');
	}
	await using other = await ServeProcess.start(['--host', '127.0.0.1'], environment);
	assert.equal(new URL(other.url).hostname, '127.0.0.1');
	assert.notEqual(other.port, port);
});

test('a wrong value in the environment is an error that names it, never a silent default', async (t) => {
	const at = ['--database', `sqlite:${temporaryFolder(t)}`];
	// What a Kubernetes service of this name would set.
	const port = await caskadeWithin(['serve', ...at], { CASKADE_PORT: 'tcp://10.0.0.1:8080' });
	assertMisused(port, /CASKADE_PORT.* whole number from 0 to 65535/);
	assertMisused(await caskade(['serve', ...at], { CASKADE_PORT: '' }), /CASKADE_PORT/);
	assertMisused(
		await caskadeWithin(['serve', ...at], { CASKADE_LOG_LEVEL: 'loud' }),
		/CASKADE_LOG_LEVEL.*debug, info/,
	);
	assertMisused(
		await caskade(['usage'], { CASKADE_DATABASE: 'data' }),
		/'data' is invalid as CASKADE_DATABASE\. It must be sqlite:FOLDER or postgres:/,
	);
});

test('an address that cannot be read is told without its password, and how to write it', async () => {
	const encode =
		/in a password write %23 for #, %2F for \/, %3F for \? and %25 for %, or keep it in PGPASSWORD/;
	for (const password of ['se#cret', 'se/cret', 'se?cret', "se'cr#et"]) {
		const address = `postgres://me:${password}@db.invalid:5432/caskade`;
		for (const [args, variable] of [
			[['usage', '--database', address]],
			[['usage'], { CASKADE_DATABASE: address }],
			[['copy', '--from', 'sqlite:x', '--to', address]],
		] as const) {
			const ended = await caskade([...args], variable);
			assertMisused(ended, encode);
			assert.doesNotMatch(ended.stderr, /se.?c|cr.?et/);
		}
	}
	for (const args of [
		// An environment file of Docker keeps quotes.
		['usage', '--database', '"postgres://me:secret@db.invalid/x"'],
		['usage', '--database', 'jdbc:postgresql://me:secret@db.invalid/x'],
		['usage', '--databse=postgres://me:secret@db.invalid/x'],
		['postgres://me:secret@db.invalid/x'],
		['user', 'link', 'a@example.com', '--console-url', 'https://me:secret@console.example'],
	]) {
		const ended = await caskade(args);
		assertMisused(ended, /…@/);
		assert.doesNotMatch(ended.stderr, /secret/);
	}
});

test('another runtime, whatever Node it says it is, exits with one sentence', async () => {
	for (const name of ['Bun', 'Deno']) {
		const versions = `{ value: { ...process.versions, ${name.toLowerCase()}: '1.0.0' } }`;
		const preload = `data:text/javascript,Object.defineProperty(process, 'versions', ${versions})`;
		const ended = await new TestProcess(process.execPath, ['--import', preload, mainPath, '--version'], {
			NODE_OPTIONS: '',
		}).ended;
		assertRefused(ended, new RegExp(`^caskade: ${name} cannot run it, Caskade needs Node 26 or newer: `));
	}
});

test('a Node that is too old exits with one sentence', async (t) => {
	const major = await majorOf(oldNode);
	if (major === undefined || major >= 26) return t.skip(`${oldNode} is not an old Node`);
	for (const path of [mainPath, mainPath.replace(/\.js$/, '.ts')]) {
		const ended = await new TestProcess(oldNode, [path, 'usage']).ended;
		assertRefused(ended, /^caskade: Node \d+\.\d+\.\d+ is too old, Caskade needs Node 26 or newer: /);
	}
});
