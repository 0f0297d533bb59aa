import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { freePort } from '../free-port.ts';
import {
	assertMisused,
	assertRefused,
	caskade,
	caskadeWithin,
	emptyInstallation,
	mainPath,
	ServeProcess,
	TestProcess,
} from '../process.ts';
import { temporaryFolder } from '../support.ts';

const oldNode = '/usr/bin/node';

/** The major version of a Node, or undefined where there is none at this path. */
async function majorOf(node: string): Promise<number | undefined> {
	if (!existsSync(node)) return undefined;
	return Number.parseInt((await new TestProcess(node, ['-p', 'process.versions.node']).ended).stdout, 10);
}

test('every flag can be set in the environment', async (t) => {
	const environment = {
		CASKADE_DATABASE: `sqlite:${temporaryFolder(t)}`,
		CASKADE_CLIENT: 'acme',
		CASKADE_ORIGIN: 'https://www.example.com',
		CASKADE_MAX_EVENTS: '50',
		CASKADE_PLAN: 'large',
		CASKADE_JSON: '1',
	};
	const json = async (args: string[]) => JSON.parse((await caskade(args, environment)).stdout);
	const account = await json(['account', 'create', 'c-a-acme-uk']);
	assert.deepEqual([account.client, account.origins], ['acme', ['https://www.example.com']]);
	assert.equal((await json(['plan', 'create', 'large'])).maxEvents, 50);
	assert.equal((await json(['key', 'issue'])).plan, 'large');
});

test('the flag takes precedence over the environment', async (t) => {
	const folder = temporaryFolder(t);
	const environment = {
		CASKADE_DATABASE: `sqlite:${join(folder, 'environment')}`,
		CASKADE_CLIENT: 'environment',
	};
	const flags = ['--database', `sqlite:${join(folder, 'flag')}`, '--client', 'flag'];
	const { stdout } = await caskade(['account', 'create', 'c-a-x', '--json', ...flags], environment);
	assert.equal(JSON.parse(stdout).client, 'flag');
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
		await caskadeWithin(['serve', '--host', '0.0.0.0', ...at], { CASKADE_BEHIND_PROXY: 'false' }),
		/--behind-proxy/,
	);
});

test('serve listens where the environment says, unless a flag says otherwise', async (t) => {
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
	assertRefused(await caskade(['usage'], { CASKADE_DATABASE: 'data' }), /'data' is no database address/);
});

test('a Node that is too old exits with one sentence', async (t) => {
	const major = await majorOf(oldNode);
	if (major === undefined || major >= 26) return t.skip(`${oldNode} is not an old Node`);
	for (const path of [mainPath, mainPath.replace(/\.js$/, '.ts')]) {
		const ended = await new TestProcess(oldNode, [path, 'usage']).ended;
		assertRefused(ended, /^caskade: Node \d+\.\d+\.\d+ is too old, Caskade needs Node 26 or newer: /);
	}
});
