import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { buildService } from '../../.ci/build.ts';
import { ServeProcess, TestProcess } from '../process.ts';
import { browserUserAgent, temporaryFolder } from '../support.ts';
import { install } from './installed.ts';

const project = join(import.meta.dirname, '../..');
const git = (...options: string[]) => execFileSync('git', options, { cwd: project, encoding: 'utf8' }).trim();
const aid = 'c-a-demo-local';

/** The latest release. Until there is one, what is committed: the way is the same. */
const [earlier = 'HEAD'] = git('tag', '--list', 'v*', '--sort=-v:refname').split('\n').filter(Boolean);

/** Builds the package of an earlier commit, by its own means. */
async function buildEarlier(t: TestContext, folder: string): Promise<string> {
	const clone = join(temporaryFolder(t), 'clone');
	execFileSync('git', ['clone', '--quiet', '--shared', '--no-checkout', project, clone]);
	execFileSync('git', ['checkout', '--quiet', '--detach', git('rev-parse', `${earlier}^{commit}`)], {
		cwd: clone,
	});
	symlinkSync(join(project, 'node_modules'), join(clone, 'node_modules'));
	const build = `import { buildService } from '${join(clone, '.ci/build.ts')}'; buildService('${folder}');`;
	execFileSync(process.execPath, ['--input-type=module', '-e', build], { cwd: clone });
	return folder;
}

async function serve(program: string, environment: Record<string, string>): Promise<ServeProcess> {
	const server = new ServeProcess(program, ['serve', '--port', '0', '--demo'], environment);
	server.url = (await server.printed(/serves at (https?:\S+) /))[1] as string;
	return server;
}

test(`a server installed from a packed file takes over what ${earlier} has stored`, async (t) => {
	t.diagnostic(`from ${earlier}`);
	const before = await install(t, 'caskade', (folder) => buildEarlier(t, folder));
	const after = await install(t, 'caskade', buildService);
	const environment = {
		NODE_OPTIONS: '',
		// The program begins with the first Node on it.
		PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
		CASKADE_DATABASE: `sqlite:${join(temporaryFolder(t), 'data')}`,
	};
	const order = { tid: 'order-1', subid: 'sub-1', cid: 'customer-1', evt: 'newsletter', rvn: 499 };

	const old = await serve(before.program, environment);
	const [, key = ''] = await old.printed(/x-api-key: (\S+)'/);
	const running = (await (await fetch(old.url)).json()) as { version: string };
	if (earlier !== 'HEAD') assert.equal(`v${running.version}`, earlier);
	const hit = await fetch(`${old.url}/hit`, {
		method: 'POST',
		headers: { 'content-type': 'application/json', 'user-agent': browserUserAgent },
		body: JSON.stringify({
			aid,
			url: 'https://shop.example/checkout',
			events: [{ name: 'checkout', tid: order.tid }],
		}),
	});
	const { cask } = (await hit.json()) as { cask: string };
	assert.equal((await old.upload(key, { aid, data: [order] })).status, 201);
	await old.kill('SIGTERM');

	await using server = await serve(after.program, environment);
	const receipt = await fetch(`${server.url}/subscription/order-1?aid=${aid}`, {
		headers: { 'x-api-key': key },
	});
	assert.deepEqual(((await receipt.json()) as { event: object }).event, order);
	const again = await server.upload(key, { aid, data: [order, { ...order, tid: 'order-2' }] });
	assert.deepEqual([again.status, again.headers.get('x-events-stored')], [201, '1']);
	const segments = await (await fetch(`${server.url}/visscores/segments?cask=${cask}`)).text();
	assert.match(segments, /"subscriber"/);
	const doctor = await new TestProcess(after.program, ['doctor'], environment).ended;
	assert.equal(doctor.code, 0, doctor.stdout + doctor.stderr);
});
