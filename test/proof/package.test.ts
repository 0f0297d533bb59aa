import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
	chmodSync,
	copyFileSync,
	cpSync,
	existsSync,
	globSync,
	lchownSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	renameSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { buildClient, buildService, plainModule } from '../../.ci/build.ts';
import { lostLinks } from '../client/pack.ts';
import { ServeProcess, TestProcess } from '../process.ts';
import { startService, temporaryFolder } from '../support.ts';
import { install } from './installed.ts';

const project = join(import.meta.dirname, '../..');
const isRoot = process.getuid?.() === 0;
/** `nobody`, who owns nothing and has no home. */
const stranger = 65_534;

/** A folder in which another user may find the Node of this process, and one that it owns. */
function placeOf(t: TestContext): { readonly path: string; readonly data: string } {
	const folder = temporaryFolder(t);
	chmodSync(folder, 0o755);
	copyFileSync(process.execPath, join(folder, 'node'));
	chmodSync(join(folder, 'node'), 0o755);
	const data = join(folder, 'data');
	mkdirSync(data);
	if (isRoot) lchownSync(data, stranger, stranger);
	return { path: `${folder}:/usr/bin:/bin`, data };
}

/** As another user, where this one may become one. */
function asStranger(program: string, args: readonly string[]): readonly [string, readonly string[]] {
	return isRoot
		? ['setpriv', [`--reuid=${stranger}`, `--regid=${stranger}`, '--clear-groups', program, ...args]]
		: [program, args];
}

test('the package installs', async (t) => {
	const { installed, program } = await install(t, 'caskade', buildService);
	const sizes = globSync('node_modules/**/*', { cwd: installed }).map(
		(path) => statSync(join(installed, path)).size,
	);
	const dependencyBytes = sizes.reduce((sum, size) => sum + size);
	t.diagnostic(`dependencies: ${(dependencyBytes / 1e6).toFixed(1)} MB unpacked`);
	assert.ok(dependencyBytes < 40e6, `${dependencyBytes} bytes`);
	assert.deepEqual(lostLinks(installed), []);
	// All that `GET /docs` shows, and whose it is.
	assert.equal(readdirSync(join(installed, 'node_modules/swagger-ui-dist')).length, 5);
	await t.test('it refuses to keep data where the next install deletes them', async () => {
		const create = [program, 'account', 'create', 'c-a-acme-uk', '--client', 'acme'];
		for (const folder of [installed, join(installed, 'docs')]) {
			const { code, stderr } = await new TestProcess(process.execPath, create, { NODE_OPTIONS: '' }, folder)
				.ended;
			assert.equal(code, 1);
			assert.match(
				stderr,
				/data is deleted when the next version is installed; name a folder outside of the package/,
			);
		}
		const outside = { NODE_OPTIONS: '', CASKADE_DATABASE: `sqlite:${temporaryFolder(t)}/data` };
		assert.equal((await new TestProcess(process.execPath, create, outside, installed).ended).code, 0);
		const backup = [program, 'backup', 'copy'];
		const { stderr } = await new TestProcess(process.execPath, backup, outside, installed).ended;
		assert.match(stderr, /copy.partial is deleted when the next version is installed/);
	});
	await t.test('as another user, it keeps what it has answered with 201', (t) => keepsEvents(t, program));
	await t.test('uninstalled while it serves, it does not take that for a lack of file handles', (t) =>
		knowsMissingFiles(t, installed, program),
	);
	await t.test("the contract's tests pass on it", (t) => passesContract(t, installed));
});

test("the client's package uploads a file as another user, where neither a server nor a store is", async (t) => {
	const { installed, program } = await install(t, 'caskade-client', buildClient);
	const paths = readdirSync(installed, { recursive: true, encoding: 'utf8' });
	const ours = paths.filter((path) => path.startsWith('command/'));
	assert.ok(ours.length > 30 && ours.length < 80, String(ours.length));
	assert.deepEqual(
		ours.filter((path) => /store|sqlite|postgres/.test(path)),
		[],
	);
	const service = await startService(t);
	const { path, data } = placeOf(t);
	const file = join(data, 'orders.csv');
	writeFileSync(file, 'tid,subid,evt,rvn\norder-1,sub-1,newsletter,499\norder-2,sub-2,newsletter,499\n');
	const environment = { NODE_OPTIONS: '', PATH: path, HOME: '/nonexistent', CASKADE_KEY: service.key };
	const run = (...args: string[]) => new TestProcess(...asStranger(program, args), environment).ended;
	const uploaded = await run('upload', file, '--aid', service.aid, '--url', service.url);
	assert.equal(uploaded.code, 0, uploaded.stderr);
	assert.match(uploaded.stdout, /2 stored/);
	assert.ok(existsSync(`${file}.report.csv`));
	const again = await run('upload', file, '--aid', service.aid, '--url', service.url, '--json');
	const { stored, duplicates } = JSON.parse(again.stdout);
	assert.deepEqual({ stored, duplicates }, { stored: 0, duplicates: 2 });

	const nowhere = await run('upload', file, '--aid', service.aid);
	assert.equal(nowhere.code, 1);
	assert.equal(nowhere.stderr, 'caskade: Name the server with --url, for example https://api.example.com.\n');
	const help = await run('upload', '--help');
	assert.match(help.stdout, /caskade-client upload orders\.csv/);
	assert.doesNotMatch(help.stdout, /--database|--stage|data folder/);
	await refusesOldNodes(
		program,
		/^caskade-client: Node [\d.]+ is too old, the command needs Node 26 or newer\.\n$/,
	);
});

/** On a Node of this machine that is too old, it says so in one sentence. */
async function refusesOldNodes(program: string, sentence: RegExp): Promise<void> {
	for (const node of ['/usr/bin/node', '/usr/local/bin/node'].filter(existsSync)) {
		const major = execFileSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' }).split('.')[0];
		if (Number(major) >= 26) continue;
		const { code, stderr } = await new TestProcess(node, [program, '--version'], { NODE_OPTIONS: '' }).ended;
		assert.equal(code, 1);
		assert.match(stderr, sentence);
	}
}

async function keepsEvents(t: TestContext, program: string): Promise<void> {
	const { path, data } = placeOf(t);
	const environment = {
		NODE_OPTIONS: '',
		PATH: path,
		HOME: '/nonexistent',
		CASKADE_DATABASE: `sqlite:${data}`,
	};
	const run = async (...args: string[]) => {
		const ended = await new TestProcess(...asStranger(program, args), environment).ended;
		assert.equal(ended.code, 0, ended.stderr);
		return ended.stdout;
	};
	const serve = async () => {
		const server = new ServeProcess(...asStranger(program, ['serve', '--port', '0', '--demo']), environment);
		server.url = (await server.printed(/serves at (https?:\S+) /))[1] as string;
		return server;
	};
	await refusesOldNodes(program, /^caskade: Node [\d.]+ is too old, Caskade needs Node 26 or newer\.\n$/);
	assert.match(await run('--version'), /^\d+\.\d+\.\d+ \(commit [0-9a-f]{12},/);
	const first = await serve();
	const [, key = ''] = await first.printed(/x-api-key: (\S+)'/);
	await first.printed(/^Generate visitors to score: caskade demo$/m);
	assert.ok(first.stdout.includes(` All data is in ${data}.\n`));
	const uploaded = { tid: 'order-1', subid: 'sub-1', evt: 'newsletter', rvn: 499 };
	assert.equal((await first.upload(key, { aid: 'c-a-demo-local', data: [uploaded] })).status, 201);
	for (const page of [
		'/docs/how-to/install',
		'/llms.txt',
		'/docs/api',
		'/docs/api/swagger-ui-bundle.js',
		'/demo/',
		'/tag.js',
	])
		assert.equal((await fetch(`${first.url}${page}`)).status, 200, page);
	await first.kill('SIGKILL');
	await using second = await serve();
	const receipt = await fetch(`${second.url}/subscription/order-1?aid=c-a-demo-local`, {
		headers: { 'x-api-key': key },
	});
	assert.equal(receipt.status, 200);
	await run('report', 'activity', 'c-a-demo-local');
}

async function knowsMissingFiles(t: TestContext, installed: string, program: string): Promise<void> {
	const environment = { NODE_OPTIONS: '', CASKADE_DATABASE: `sqlite:${temporaryFolder(t)}/data` };
	const serve = [program, 'serve', '--port', '0', '--console-port', '0', '--demo'];
	await using server = new ServeProcess(process.execPath, serve, environment);
	server.url = (await server.printed(/serves at (https?:\S+) /))[1] as string;
	await fetch(`${server.url}/readyz`);
	renameSync(installed, `${installed}-gone`);
	t.after(() => renameSync(`${installed}-gone`, installed));
	// It said that no file handles were left.
	assert.equal(await (await fetch(`${server.url}/readyz`)).text(), '{"status":"ready"}');
}

async function passesContract(t: TestContext, installed: string): Promise<void> {
	const folder = temporaryFolder(t);
	for (const file of globSync('test/**/*.{ts,js,json,crt,key,pem,sql,csv,txt,c,awk}', { cwd: project })) {
		const target = join(folder, file.replace(/\.ts$/, '.js'));
		mkdirSync(dirname(target), { recursive: true });
		if (file.endsWith('.ts')) writeFileSync(target, plainModule(readFileSync(join(project, file), 'utf8')));
		else cpSync(join(project, file), target);
	}
	for (const name of ['src', 'client', 'migrations', 'demo', 'docs', 'README.md'])
		symlinkSync(join(installed, name), join(folder, name));
	symlinkSync(join(project, 'node_modules'), join(folder, 'node_modules'));
	writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
	const files = globSync('test/core/api/{subscription,visscores,segments,hit,receipt,usage}/**/*.test.js', {
		cwd: folder,
	});
	assert.ok(files.length > 20, String(files.length));
	const { code, stdout, stderr } = await new TestProcess(
		process.execPath,
		[
			'--test',
			`--test-global-setup=${join(folder, 'test/before-all.js')}`,
			'--test-concurrency=2',
			...files.map((file) => join(folder, file)),
		],
		{ NODE_OPTIONS: '', TEST_QUICK: '1' },
	).ended;
	assert.equal(code, 0, stderr + stdout.slice(-9000));
}
