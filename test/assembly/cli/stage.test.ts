import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openStore } from '../../../src/assembly/open-store.ts';
import { engines, enginesAboveContract, storedContent } from '../../core/store/engines.ts';
import { schemasAt } from '../../core/store/other-program.ts';
import { assertMisused, assertRefused, caskade, caskadeJson } from '../../process.ts';
import { type ServerHere, serveHere } from '../../serve-here.ts';
import { addClient, event, temporaryFolder } from '../../support.ts';

/** A client of the same name, with an account of the same name, in a stage of its own. */
async function addClientTo(t: TestContext, address: string, stage?: string) {
	const store = await openStore(address, { stage });
	t.after(() => store.close());
	return { ...(await addClient(store)), store };
}

const serve = (address: string, stage?: string) =>
	serveHere(['--database', address, ...(stage === undefined ? [] : ['--stage', stage])]);

for (const engine of enginesAboveContract)
	test(`${engine.name}: stages serve side by side, and what one issues is not valid in another`, async (t) => {
		const address = await engine.installedAddress(t);
		const stages = engine.isFolder ? [undefined, 'staging', 'staging-2'] : [undefined, 'staging'];
		const clients = await Promise.all(stages.map((stage) => addClientTo(t, address, stage)));
		const servers: ServerHere[] = [];
		t.after(() => Promise.all(servers.map((server) => server.stop())));
		for (const stage of stages) servers.push(await serve(address, stage));

		for (const [at, server] of servers.entries())
			for (const [of, { key, aid }] of clients.entries()) {
				const { status } = await server.upload(key, { aid, data: [event({ tid: `of-${stages[of]}` })] });
				assert.equal(status, at === of ? 201 : 403, `key of ${stages[of]} at ${stages[at]}`);
			}
		for (const [of, { store, aid }] of clients.entries()) {
			const { id } = await store.control.account(aid);
			assert.deepEqual(
				(await storedContent(store, id)).map(({ tid }) => tid),
				[`of-${stages[of]}`],
			);
		}
	});

test('the operations of a stage are under its name, and nowhere else', async (t) => {
	const address = `sqlite:${temporaryFolder(t)}`;
	await using server = await serve(address, 'staging');
	const { origin, pathname } = new URL(server.url);
	assert.equal(pathname, '/staging');
	const status = async (url: string) => (await fetch(url)).status;
	for (const path of ['/docs/', '/docs/api', '/docs/api/start.js', '/openapi.json', '/healthz', '/readyz'])
		assert.equal(await status(`${server.url}${path}`), 200, path);
	assert.equal(await status(`${server.url}/subscription`), 405);
	for (const path of ['/subscription', '/docs', '/openapi.json', '/staging2/healthz', '/STAGING/healthz'])
		assert.equal(await status(`${origin}${path}`), 404, path);
	// What supervises the process need not know what it serves.
	for (const path of ['/healthz', '/readyz']) assert.equal(await status(`${origin}${path}`), 200, path);
});

test('every command works on its stage, given by flag or environment', async (t) => {
	const folder = temporaryFolder(t);
	const at = ['--database', `sqlite:${folder}`];
	await (await openStore(`sqlite:${folder}`)).close();
	const staging = [...at, '--stage', 'staging'];
	await caskadeJson(['account', 'create', 'c-a-other-uk', '--client', 'other', ...at]);
	await caskadeJson(['account', 'create', 'c-a-acme-uk', '--client', 'acme', ...staging]);
	await caskadeJson(['plan', 'create', 'large', ...staging]);
	await caskadeJson(['key', 'issue', '--client', 'acme', '--plan', 'large'], {
		CASKADE_DATABASE: `sqlite:${folder}`,
		CASKADE_STAGE: 'staging',
	});
	const knowsAcme = async (command: string[], where: string[]) =>
		JSON.stringify(await caskadeJson([...command, ...where])).includes('acme');
	for (const command of [['account', 'list'], ['key', 'list'], ['usage'], ['migrate']]) {
		assert.equal(await knowsAcme(command, staging), true, command.join(' '));
		assert.equal(await knowsAcme(command, at), false, command.join(' '));
	}
	assert.deepEqual(await caskadeJson(['events', 'c-a-acme-uk', ...staging]), []);
	assertRefused(await caskade(['events', 'c-a-acme-uk', ...at]), /c-a-acme-uk/);
	await caskadeJson(['backup', join(folder, 'copy'), ...staging]);
	assert.ok(existsSync(join(folder, 'copy', 'accounts', '1.sqlite')));
	assert.match((await caskade(['doctor', ...staging])).stdout, /account c-a-acme-uk: sound/);
});

test('a stage has schemas of its own, whatever its name', async (t) => {
	const engine = engines.find(({ name }) => name === 'postgres');
	const address = (await engine?.installedAddress(t)) as string;
	for (const stage of [undefined, 'account', '1', '-'.padStart(30, 'x')])
		await addClientTo(t, address, stage);
	const long = '-'.padStart(30, 'x');
	assert.deepEqual(await schemasAt(t, address), [
		...['caskade_1_account_1', 'caskade_1_control', 'caskade_account_1'],
		...['caskade_account_account_1', 'caskade_account_control', 'caskade_control'],
		...[`caskade_${long}_account_1`, `caskade_${long}_control`],
	]);
});

test('a stage whose name is ambiguous is refused', async (t) => {
	const at = ['--database', `sqlite:${temporaryFolder(t)}`];
	for (const name of ['', 'Staging', '../x', 'a/b', 'a_b', 'a"b', '-a', 'a.b', 'ä', 'x'.repeat(31)])
		assertMisused(
			await caskade(['usage', ...at, `--stage=${name}`]),
			/lower-case letters, digits and hyphens/,
		);
	assertMisused(await caskade(['usage', ...at], { CASKADE_STAGE: 'A' }), /CASKADE_STAGE/);
});
