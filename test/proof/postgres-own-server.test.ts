import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { copyStore } from '../../src/capabilities/upkeep/store/copy.ts';
import { eraseVisitor } from '../../src/capabilities/visitors/store/erasure.ts';
import { storeHits } from '../../src/core/store/account/arriving/hits.ts';
import type { OpenStore } from '../../src/core/store/store.ts';
import { addAccount, assertRefuses, engines, openFor, storedEvents } from '../core/store/engines.ts';
import { derived, hit } from '../core/store/made-hits.ts';
import { PostgresProxy } from '../core/store/postgres/proxy.ts';
import {
	becomes,
	type ProxiedService,
	sessionOn,
	startProxiedService,
	uploadTids,
} from '../core/store/postgres/service.ts';
import { freshPostgresDatabase, installedPostgresDatabase } from '../core/store/postgres-server.ts';
import { freePort } from '../free-port.ts';
import { assertRefused, caskade, caskadeJson, withinASecond } from '../process.ts';
import { temporaryFolder } from '../support.ts';

const ownAid = 'c-a-acme-own';

/** A service, an account of its client `acme` with an own database, and the network between the two. */
async function startWithOwnServer(t: TestContext, timeoutMs = 60_000) {
	const service = await startProxiedService(t, await installedPostgresDatabase(), { timeoutMs });
	const address = await freshPostgresDatabase();
	const proxy = await PostgresProxy.start(address);
	t.after(async () => {
		proxy.restore();
		proxy.cut();
		await proxy[Symbol.asyncDispose]();
	});
	const at = ['--database', service.address];
	const created = await caskadeJson([
		'account',
		'create',
		ownAid,
		'--client',
		'acme',
		'--own-database',
		proxy.address,
		...at,
	]);
	const { id } = await service.store.control.account(ownAid);
	const own = { aid: ownAid, key: service.acme.key };
	await withinASecond('the account is known', async () => {
		return (await uploadTids(service.server.url, own, ['first'])).status === 201;
	});
	const store = await openFor(t, service.address);
	return { service, address, proxy, at, created, id, own, store };
}

async function schemasAt(t: TestContext, address: string): Promise<string[]> {
	const session = await sessionOn(t, address);
	const { rows } = await session.query(
		"SELECT schema_name FROM information_schema.schemata WHERE schema_name LIKE 'caskade%' ORDER BY 1",
	);
	return rows.map((row) => row.schema_name);
}

test('the data of an account with its own server is only there', async (t) => {
	const { service, address, at, id, own, store } = await startWithOwnServer(t);
	assert.deepEqual(await schemasAt(t, address), [`caskade_account_${id}`]);
	assert.ok(!(await schemasAt(t, service.address)).includes(`caskade_account_${id}`));
	assert.equal((await uploadTids(service.server.url, own, ['second'])).status, 201);
	assert.deepEqual(
		(await storedEvents(store, id)).map(({ tid }) => tid),
		['first', 'second'],
	);
	assert.deepEqual(await service.stored(), []);

	const { vid, sid } = await service.writer.storeHit(id, hit());
	const reader = store.startReading();
	assert.equal((await reader.visitor(id, vid))?.hits, 1);
	assert.equal((await reader.visit(id, sid))?.hits, 1);
	await reader.close();
	assert.equal((await eraseVisitor(store, id, vid)).hits, 1);

	assert.deepEqual(
		((await caskadeJson(['migrate', ...at])) as { database: string }[]).map(({ database }) => database),
		[service.acme.aid, service.globex.aid, ownAid],
	);
	assert.match(
		(await caskade(['doctor', ...at])).stdout,
		/ok +account c-a-acme-own: schema \d+, at postgres:\S+\n/,
	);
});

test('an account is deleted on its own server; while that is lost, it stays, disabled', async (t) => {
	const { service, address, proxy, at, own, store } = await startWithOwnServer(t);
	const remove = ['account', 'delete', ownAid, '--yes', ownAid, ...at];
	proxy.refuse();
	assertRefused(await caskade(remove), /No PostgreSQL server (listens|answers) at /);
	assert.notEqual((await store.control.account(ownAid)).disabledAt, null);
	proxy.restore();
	assert.equal(((await caskadeJson(remove)) as { events: number }).events, 1);
	assert.deepEqual(await schemasAt(t, address), []);
	assert.equal((await uploadTids(service.server.url, own, ['late'])).status, 400);
	assert.equal((await caskade(['doctor', ...at])).code, 0);
});

test('the address is shown without its password', async (t) => {
	const { address, proxy, at, created } = await startWithOwnServer(t);
	const { host, pathname, password } = new URL(proxy.address);
	assert.ok(password && address);
	assert.equal((created as { ownDatabase: string }).ownDatabase, `postgres://${host}${pathname}`);
	for (const command of [['account', 'list'], ['account', 'list', '--json'], ['doctor'], ['migrate']]) {
		const { stdout, stderr } = await caskade([...command, ...at]);
		assert.doesNotMatch(stdout + stderr, new RegExp(`:${password}@`), command.join(' '));
	}
});

async function othersGoOn(service: ProxiedService, tid: string): Promise<void> {
	for (const client of [service.acme, service.globex])
		await becomes('uploads of others are stored', 1000, async () => {
			return (await service.upload([tid], client)).status === 201;
		});
	await becomes('ready', 1000, () => service.isReady());
}

for (const how of ['refuse', 'vanish'] as const)
	test(`losing an own server (${how}) affects only its account`, async (t) => {
		const { service, proxy, at, own, id, store } = await startWithOwnServer(t, 600);
		proxy[how]();
		const lost = Array.from({ length: 20 }, (_, n) => uploadTids(service.server.url, own, [`lost-${n}`]));
		await othersGoOn(service, 'during');
		const hits = service.writer.storeHit(id, hit()).catch((error: Error) => error.message);
		await othersGoOn(service, 'during too');
		for (const { status } of await Promise.all(lost)) assert.ok([503, 504].includes(status), `${status}`);
		assert.equal(typeof (await hits), 'string');
		if (how === 'refuse') {
			const { stdout, code } = await caskade(['doctor', ...at]);
			assert.match(stdout, /CARE +account c-a-acme-own: postgres:\S+ cannot be asked: /);
			assert.match(stdout, /ok +account c-a-globex-uk: /);
			assert.equal(code, 1);
		}
		proxy.restore();
		await becomes('an upload is stored again', 3000, async () => {
			return (await uploadTids(service.server.url, own, ['after'])).status === 201;
		});
		assert.deepEqual(
			(await storedEvents(store, id)).map(({ tid }) => tid),
			['first', 'after'],
		);
	});

test('migrate continues past a lost own server, and names it', async (t) => {
	const { proxy, at } = await startWithOwnServer(t);
	proxy.refuse();
	const { stdout, stderr, code } = await caskade(['migrate', '--json', ...at]);
	assert.match(
		stderr,
		/^caskade: All databases have the newest schema except c-a-acme-own at postgres:\S+ \(.+\); run 'caskade migrate' again/,
	);
	assert.equal(stdout, '');
	assert.equal(code, 1);
});

test('a running server follows an account that was moved', async (t) => {
	const { service, id, own } = await startWithOwnServer(t);
	const elsewhere = await freshPostgresDatabase();
	const there = await openFor(t, elsewhere);
	await there.createAccountDatabase(id);
	const session = await sessionOn(t, service.address);
	await session.query('UPDATE caskade_control.account SET database = $1 WHERE id = $2', [elsewhere, id]);
	await session.query('UPDATE caskade_control.revision SET number = number + 1');
	let moves = 0;
	await withinASecond('uploads are stored at the new place', async () => {
		assert.equal((await uploadTids(service.server.url, own, [`moved-${moves++}`])).status, 201);
		return (await storedEvents(there, id)).length > 0;
	});
});

test('a copy puts accounts with own servers in one place', async (t) => {
	const { service, id, store } = await startWithOwnServer(t);
	await store.transact(id, () => storeHits([hit()]));
	await service.server.stop();
	for (const engine of engines) {
		const target = await openFor(t, await engine.freshAddress(t));
		await copyStore(store, target, () => {});
		assert.equal((await target.control.account(ownAid)).ownDatabase, null);
		assert.deepEqual(await derived(target, id), await derived(store, id));
	}
});

test('an unusable own database is refused with a reason, without the password', async (t) => {
	const at = ['--database', await freshPostgresDatabase()];
	const create = (address: string, place = at) =>
		caskade(['account', 'create', 'c-a-x', '--client', 'x', ...place], { CASKADE_OWN_DATABASE: address });
	const address = await freshPostgresDatabase();
	const nobody = new URL(address);
	nobody.port = String(await freePort());
	const noDatabase = new URL(address);
	noDatabase.pathname = '/nothing';
	const refusals: [Promise<{ stdout: string; stderr: string }>, RegExp][] = [
		[create('mysql://user:secret@host/database'), /must be like postgres:/],
		[create('postgres://user:secret@'), /must be like postgres:/],
		[create(nobody.href), /No PostgreSQL server listens at 127\.0\.0\.1:\d+\./],
		[create(noDatabase.href), /has no database of that name/],
		[create(address, ['--database', `sqlite:${temporaryFolder(t)}`]), /needs PostgreSQL: a data folder/],
	];
	for (const [refused, sentence] of refusals) {
		const ended = (await refused) as Parameters<typeof assertRefused>[0];
		assertRefused(ended, sentence);
		assert.doesNotMatch(ended.stderr, /secret|postgres:postgres@/);
	}
	assert.deepEqual(await caskadeJson(['account', 'list', ...at]), []);
});

test('two deployments cannot share an own database by mistake', async (t) => {
	const own = await freshPostgresDatabase();
	const add = (store: OpenStore) =>
		store.control.createAccount({ aid: 'c-a-x', client: 'x', origins: [], ownDatabase: own }, (id) =>
			store.createAccountDatabase(id, own),
		);
	const address = await freshPostgresDatabase();
	const one = { address, store: await openFor(t, address) };
	const other = await openFor(t, await freshPostgresDatabase());
	const opened = await openFor(t, one.address);
	await add(one.store);
	assert.equal((await opened.control.accounts()).length, 1);
	assert.deepEqual(await storedEvents(opened, 1), [], 'whoever reads of an account knows where it is');
	await assertRefuses(add(other), /There is a schema caskade_account_1 at postgres:\S+ already/);
	assert.deepEqual(await other.control.accounts(), []);
	await addAccount(other, 'c-a-y');
});
