import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { storeHits } from '../../../../../src/core/store/account/arriving/hits.ts';
import { rowsOf, select } from '../../../../../src/core/store/steps.ts';
import { eventually } from '../../../../eventually.ts';
import { openStore } from '../../../../whole.ts';
import { addAccount, startWritingFor, subscriptionEvent, upload } from '../../engines.ts';
import { hit } from '../../made-hits.ts';
import { freshCitusLike } from '../citus-like.ts';
import { PostgresProxy } from '../proxy.ts';
import { startOwnPostgres } from '../server.ts';
import { sessionOn } from '../service.ts';

/** What the visitors of the node have; those of the coordinator have one hit. */
const hitsAtNode = 41;

/** The tables of a schema, by the names under which a node has those that lie there. */
async function tablesThere(node: Awaited<ReturnType<typeof sessionOn>>, schema: string) {
	const { rows } = await node.query(
		`SELECT relname AS name, relname || '_' || shardid AS there FROM pg_dist_shard JOIN pg_class ON pg_class.oid = logicalrelid
		 WHERE relnamespace = '${schema}'::regnamespace`,
	);
	return new Map<string, string>(rows.map(({ name, there }) => [name, there]));
}

/**
 * A coordinator and one of its nodes, on servers of their own. Both can be asked for both accounts, as on a cluster; here
 * each has its own rows, which tell who was asked.
 */
async function start(t: TestContext) {
	const workers = { 'worker-1:5432': 'on' };
	const address = await freshCitusLike({ workers });
	const first = await openStore(address);
	const writer = await startWritingFor(t, first);
	const visitors: { id: number; vid: string; profile: string }[] = [];
	for (let count = 0; count < 2; count++) {
		const id = await addAccount(first);
		const { vid } = await writer.storeHit(id, hit());
		const [row] = await first.read(id, rowsOf([select`profile FROM @visitor`]));
		visitors.push({ id, vid, profile: String(row?.profile) });
	}
	await writer.stop();
	await first.close();
	const server = await startOwnPostgres();
	t.after(() => server.stop());
	const database = new URL(server.url);
	database.pathname = new URL(address).pathname;
	const maintenance = await sessionOn(t, server.url);
	await maintenance.query(`CREATE DATABASE ${database.pathname.slice(1)} ENCODING 'UTF8' TEMPLATE template0`);
	await freshCitusLike({ workers, database: database.href });
	const there = await openStore(database.href);
	for (const { id } of visitors) await there.createAccountDatabase(id);
	await there.close();
	const node = await sessionOn(t, database.href);
	await node.query('UPDATE pg_dist_local_group SET groupid = 1');
	for (const { id } of visitors) {
		const schema = `caskade_account_${id}`;
		for (const [name, there] of await tablesThere(node, schema)) {
			if (name === 'schema_version') continue;
			await node.query(`ALTER TABLE ${schema}.${name} RENAME TO ${there}`);
			await node.query(`CREATE VIEW ${schema}.${name} AS TABLE ${schema}.${there}`);
		}
	}
	for (const { id, vid, profile } of visitors)
		await node.query(`INSERT INTO caskade_account_${id}.visitor (vid, profile) VALUES ($1, $2)`, [
			vid,
			JSON.stringify({ ...JSON.parse(profile), hits: hitsAtNode }),
		]);
	const proxy = await PostgresProxy.start(database.href);
	t.after(() => proxy[Symbol.asyncDispose]());
	const coordinator = await sessionOn(t, address);
	const [moved, other] = visitors as [(typeof visitors)[0], (typeof visitors)[0]];
	/** Moves an account; 0 is the coordinator. */
	const move = ({ id }: { id: number }, group: number) =>
		coordinator.query(
			`WITH shard AS (DELETE FROM pg_dist_placement USING pg_dist_shard JOIN pg_class ON pg_class.oid = logicalrelid
				WHERE pg_dist_placement.shardid = pg_dist_shard.shardid AND relnamespace = 'caskade_account_${id}'::regnamespace
				RETURNING pg_dist_placement.shardid)
			 INSERT INTO pg_dist_placement (shardid, groupid) SELECT shardid, ${group} FROM shard`,
		);
	await move(other, 0);
	const store = await openStore(address, {
		nodeAddress: { 'worker-1:5432': new URL(proxy.address).host },
	});
	const errors: string[] = [];
	const serving = await startWritingFor(t, store, {
		onError: (database, reason) => errors.push(`${database}: ${reason}`),
	});
	const reader = store.startReading();
	t.after(async () => {
		await reader.close();
		await store.close();
	});
	const hitsOf = async ({ id, vid }: { id: number; vid: string }) => (await reader.visitor(id, vid))?.hits;
	const becomes = (what: string, hits: number) =>
		eventually(what, async () => (await hitsOf(moved).catch(() => undefined)) === hits);
	return { proxy, node, coordinator, serving, store, move, moved, other, hitsOf, becomes, errors };
}

test('reads go to the node that has the account, also after it has moved', async (t) => {
	const { move, moved, other, hitsOf, becomes } = await start(t);
	await becomes('the node is asked', hitsAtNode);
	assert.equal(await hitsOf(other), 1);
	await move(moved, 0);
	await becomes('the coordinator is asked, which has it now', 1);
	await move(moved, 1);
	await becomes('the node is asked again', hitsAtNode);
});

test('what is stored goes to the node that has the account, with numbers of the account', async (t) => {
	const { node, coordinator, serving, store, moved, becomes } = await start(t);
	await becomes('the node is asked', hitsAtNode);
	await node.query(`UPDATE caskade_account_${moved.id}.counter SET last = 700`);
	const numbers = async (session: typeof node) =>
		(await session.query(`SELECT id FROM caskade_account_${moved.id}.hit ORDER BY id`)).rows.map(({ id }) =>
			Number(id),
		);
	const before = await numbers(coordinator);
	await serving.storeHit(moved.id, hit());
	await store.transact(moved.id, () => storeHits([hit()]));
	const [first = 0, second = 0] = await numbers(node);
	assert.ok(first > 700 && second > first, `${first}, ${second}`);
	assert.deepEqual(await numbers(coordinator), before);
});

test('what is stored names the tables as the node has them, until the account is not there any more', async (t) => {
	const { node, serving, store, moved, becomes } = await start(t);
	await becomes('the node is asked', hitsAtNode);
	const schema = `caskade_account_${moved.id}`;
	const [hitThere] = await node
		.query(
			`SELECT relname FROM pg_class WHERE relnamespace = '${schema}'::regnamespace AND relname ~ '^hit_[0-9]+$'`,
		)
		.then(({ rows }) => rows.map(({ relname }) => String(relname)));
	await node.query(`DROP VIEW ${schema}.hit`);
	await node.query(`CREATE TABLE ${schema}.hit (LIKE ${schema}.${hitThere} INCLUDING ALL)`);
	const count = async (table = '') =>
		Number((await node.query(`SELECT count(*) FROM ${schema}.${table}`)).rows[0].count);
	await serving.storeHit(moved.id, hit());
	await store.transact(moved.id, () => storeHits([hit()]));
	assert.deepEqual([await count(hitThere), await count('hit')], [2, 0]);
	await node.query('UPDATE pg_dist_placement SET groupid = 2');
	await serving.storeHit(moved.id, hit());
	await store.transact(moved.id, () => storeHits([hit()]));
	assert.deepEqual([await count(hitThere), await count('hit')], [2, 2]);
});

test('a server opens as many connections to a node as docs/how-to/scaling.md says', async (t) => {
	const { node, move, moved, other, serving, store, hitsOf, becomes } = await start(t);
	await move(other, 1);
	await becomes('the node is asked', hitsAtNode);
	await eventually(
		'it is asked for the other account, too',
		async () => (await hitsOf(other)) === hitsAtNode,
	);
	let isOver = false;
	const working = (async () => {
		for (let round = 0; round < 3; round++)
			await Promise.all(
				Array.from({ length: 40 }, async () => {
					for (const account of [moved, other]) {
						await Promise.all([
							serving.storeHit(account.id, hit()),
							upload(serving, account.id, [subscriptionEvent()]),
							hitsOf(account),
						]);
						await store.transact(account.id, () => storeHits([hit()]));
					}
				}),
			);
	})().finally(() => {
		isOver = true;
	});
	let most = 0;
	while (!isOver) {
		const { rows } = await node.query(
			"SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'caskade'",
		);
		most = Math.max(most, rows[0].count);
	}
	await working;
	t.diagnostic(`${most} connections`);
	// 2 each for uploads, hits and reads, which `--connections` raises to 4; for numbers of uploads, hits and the rest as many
	// again; 2 for the rest, and one that looks whether the node answers.
	assert.ok(most > 6 && most <= 6 + 6 + 2 + 1, `${most} connections`);
});

for (const how of ['refuse', 'stall'] as const)
	test(`while a node does not answer (${how}), the coordinator is asked, and other accounts are served as ever`, async (t) => {
		const { proxy, serving, moved, other, hitsOf, becomes, errors } = await start(t);
		await becomes('the node is asked', hitsAtNode);
		proxy[how]();
		proxy.cut();
		const asking = hitsOf(moved).catch(() => undefined);
		const answered: string[] = [];
		const storing = serving
			.storeHit(moved.id, hit())
			.catch(() => {})
			.then(() => answered.push('its own'));
		for (let n = 0; n < 20; n++) assert.equal(await hitsOf(other), 1);
		for (let n = 0; n < 5; n++) await serving.storeHit(other.id, hit());
		answered.push('the others');
		await asking;
		await storing;
		// A refusal is an answer. Silence is waited for, by nobody else.
		if (how === 'stall') assert.deepEqual(answered, ['the others', 'its own']);
		await becomes('the coordinator is asked', 1);
		assert.match(errors.join('\n'), /No PostgreSQL server (listens|answers) at/);
		proxy.restore();
		await becomes('the node is asked again', hitsAtNode);
	});

test('a node whose name is of another server here is not asked', async (t) => {
	const { node, becomes, hitsOf, moved, errors } = await start(t);
	await becomes('the node is asked', hitsAtNode);
	await node.query('UPDATE pg_dist_local_group SET groupid = 2');
	await becomes('the coordinator is asked', 1);
	assert.match(errors.join('\n'), /not the node of the cluster that the coordinator knows by this name/);
	assert.equal(await hitsOf(moved), 1);
});
