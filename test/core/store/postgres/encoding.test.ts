import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertRefused, caskadeWithin } from '../../../process.ts';
import { openStore } from '../../../whole.ts';
import {
	assertRefuses,
	openFor,
	startServingFor,
	storedContent,
	subscriptionEvent,
	upload,
} from '../engines.ts';
import { freshPostgresDatabase } from '../postgres-server.ts';
import { sessionOn } from './service.ts';

test('a database that is not UTF-8 is refused with a reason and not changed', async (t) => {
	const address = await freshPostgresDatabase('SQL_ASCII');
	const sentence = / has the encoding SQL_ASCII, and Caskade needs UTF8: /;
	assertRefused(await caskadeWithin(['serve', '--port', '0', '--database', address]), sentence);
	await assertRefuses(openStore(address, { stage: 'staging' }), sentence);
	const session = await sessionOn(t, address);
	const { rows } = await session.query("SELECT 1 FROM pg_namespace WHERE nspname LIKE 'caskade%'");
	assert.deepEqual(rows, []);
});

test('the same for an own database, when its account is created and when it was moved there', async (t) => {
	const own = await freshPostgresDatabase('LATIN1');
	const sentence = / has the encoding LATIN1, and Caskade needs UTF8: /;
	const address = await freshPostgresDatabase();
	const store = await openFor(t, address);
	const create = (aid: string, ownDatabase?: string) =>
		store.control.createAccount({ aid, client: 'x', origins: [], ownDatabase }, (id) =>
			store.createAccountDatabase(id, ownDatabase),
		);
	await assertRefuses(create('c-a-x', own), sentence);
	assert.deepEqual(await store.control.accounts(), []);
	const { id } = await create('c-a-y');
	const session = await sessionOn(t, address);
	await session.query('UPDATE caskade_control.account SET database = $1', [own]);
	const moved = await openFor(t, address);
	await assertRefuses(storedContent(moved, id), sentence);
});

test("text is stored as sent, whatever the sessions' default encoding", async (t) => {
	const freshAddress = async () => {
		const address = new URL(await freshPostgresDatabase());
		const session = await sessionOn(t, address.href);
		await session.query(`ALTER DATABASE ${address.pathname.slice(1)} SET client_encoding TO 'LATIN1'`);
		address.searchParams.set('client_encoding', 'LATIN1');
		address.searchParams.set('options', '-c client_encoding=LATIN1');
		return address.href;
	};
	const { store, writer, accountId } = await startServingFor(t, {
		name: 'postgres',
		freshAddress,
		installedAddress: freshAddress,
		isFolder: false,
	});
	const event = subscriptionEvent({ tid: 'Zoë ✓ 漢 🌊' });
	await upload(writer, accountId, [event]);
	assert.deepEqual(await storedContent(store, accountId), [event]);
});
