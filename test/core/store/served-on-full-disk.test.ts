import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { takesLong } from '../../quick.ts';
import { noSmallDisk, SmallDisk } from '../../small-disk.ts';
import { addClient, serveAt } from '../../support.ts';
import { openStore } from '../../whole.ts';
import { storedEvents } from './engines.ts';
import { checkpoint } from './other-program.ts';
import { createDatabase, startOwnPostgres } from './postgres/server.ts';
import { becomes, uploadTids } from './postgres/service.ts';

const storeFailed =
	'{"message":"Internal server error.","validationErrors":"the store failed; nothing is stored, retrying is safe"}';

/** Databases on a small disk. */
interface Place extends AsyncDisposable {
	readonly address: string;
	/** Ensures that the probe's write finds space although the disk is full. */
	leaveRoomForProbe(): void;
}

const places: Readonly<Record<string, (disk: SmallDisk) => Promise<Place>>> = {
	async 'a data folder'(disk) {
		const folder = join(disk.path, 'data');
		return {
			address: `sqlite:${folder}`,
			leaveRoomForProbe() {
				// The write-ahead log restarts, and the file keeps its length.
				checkpoint(join(folder, 'control.sqlite'), 'RESTART');
			},
			async [Symbol.asyncDispose]() {},
		};
	},
	async PostgreSQL(disk) {
		// A server that nobody else needs, because its disk becomes full.
		const server = await startOwnPostgres();
		const address = await createDatabase(server);
		const database = new URL(address).pathname.slice(1);
		const admin = new URL(address);
		admin.pathname = '/postgres';
		const session = new pg.Client({ connectionString: admin.href });
		await session.connect();
		// If the tests run as root, the server runs as this user.
		execFileSync('chown', ['postgres', disk.path]);
		await session.query(`CREATE TABLESPACE small LOCATION '${disk.path}'`);
		await session.query(`ALTER DATABASE ${database} SET TABLESPACE small`);
		return {
			address,
			// The row that it changes already has a page.
			leaveRoomForProbe() {},
			async [Symbol.asyncDispose]() {
				await session.query(`DROP DATABASE ${database} WITH (FORCE)`);
				await session.query('DROP TABLESPACE small');
				await session.end();
				await server.stop();
			},
		};
	},
};

const skip = takesLong || noSmallDisk();

for (const [name, findPlace] of Object.entries(places))
	test(`${name} on a full disk: 500, nothing stored, not ready; works within a second of having space again`, {
		skip,
	}, async () => {
		await using atEnd = new AsyncDisposableStack();
		const disk = atEnd.use(new SmallDisk());
		const place = atEnd.use(await findPlace(disk));
		const store = await openStore(place.address);
		atEnd.defer(() => store.close());
		const client = await addClient(store);
		const { id } = await store.control.account(client.aid);
		const logged: string[] = [];
		const server = await serveAt(place.address, {}, logged);
		atEnd.defer(() => server.stop());

		const acknowledged: string[] = [];
		let uploads = 0;
		const upload = async () => {
			const number = uploads++;
			const tids = Array.from({ length: 30 }, (_, n) => `${number}-${n}-`.padEnd(200, 'x'));
			const answer = await uploadTids(server.url, client, tids);
			if (answer.status === 201) acknowledged.push(...tids);
			else assert.deepEqual([answer.status, answer.body], [500, storeFailed]);
			return answer.status;
		};
		const stored = async () => (await storedEvents(store, id)).map(({ tid }) => tid);
		const isReady = async () => (await fetch(`${server.url}/readyz`)).status === 200;

		assert.equal(await upload(), 201);
		assert.equal(await isReady(), true);
		place.leaveRoomForProbe();
		disk.fill();
		await becomes('an upload fails', 2000, async () => (await upload()) === 500);
		await becomes('not ready', 2000, async () => !(await isReady()));
		assert.deepEqual(await Promise.all(Array.from({ length: 8 }, upload)), Array(8).fill(500));
		// An answer of /readyz is cached for a second.
		await delay(1100);
		assert.equal(await isReady(), false);
		assert.equal((await fetch(`${server.url}/healthz`)).status, 200);
		assert.deepEqual(await stored(), acknowledged);

		disk.free();
		await becomes('an upload is stored', 1000, async () => (await upload()) === 201);
		await becomes('ready', 2000, isReady);
		assert.equal(await upload(), 201);
		assert.deepEqual(await stored(), acknowledged);
		assert.match(logged.join('\n'), /"msg":"store error"/);
	});
