import assert from 'node:assert/strict';
import { test } from 'node:test';
import { select } from '../../../../src/core/store/steps.ts';
import { assertAsTheLogSays } from '../contract/visitors.ts';
import {
	addAccount,
	type Engine,
	engines,
	receivedAtMs,
	startServingFor,
	subscriptionEvent,
	upload,
} from '../engines.ts';
import { hit } from '../made-hits.ts';
import { sessionOn } from './service.ts';

const postgres = engines.find(({ isFolder }) => !isFolder) as Engine;

test('an event of an account whose events have owners is written once, with whom it names or follows', async (t) => {
	const { store, writer, accountId, address } = await startServingFor(t, postgres);
	const other = await addAccount(store, 'c-a-other');
	for (const id of [accountId, other]) {
		const shown = { cid: 'C-1', events: [{ name: 'order', tid: `T-${id}` }] };
		const { vid } = await writer.storeHit(id, hit({ atMs: receivedAtMs }, shown));
		const first = [
			subscriptionEvent({ tid: `T-${id}`, subid: 'S-1' }),
			subscriptionEvent({ tid: `U-${id}`, subid: 'S-2', cid: 'C-1' }),
		];
		assert.equal((await upload(writer, id, first)).stored, 2);
		const session = await sessionOn(t, address);
		await session.query(`SET search_path = caskade_account_${id};
			CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'written twice'; END $$;
			CREATE TRIGGER once BEFORE UPDATE ON subscription_event FOR EACH ROW EXECUTE FUNCTION refuse()`);
		assert.ok(vid);
	}
	const atMs = receivedAtMs + 1000;
	const uploads = [accountId, other].map((id) =>
		upload(
			writer,
			id,
			[
				subscriptionEvent({ tid: `V-${id}`, subid: 'S-1' }),
				subscriptionEvent({ tid: `W-${id}`, subid: 'S-2', cid: 'C-1' }),
				subscriptionEvent({ tid: `X-${id}`, subid: 'S-3' }),
			],
			{ atMs },
		),
	);
	for (const { stored } of await Promise.all(uploads)) assert.equal(stored, 3);
	for (const id of [accountId, other]) {
		const rows = await store.read(
			id,
			select`named, vid IS NULL AS nobody FROM @subscription_event ORDER BY id`[Symbol.iterator](),
		);
		assert.deepEqual(
			rows.map(({ named, nobody }) => [named, nobody]),
			[
				[2, false],
				[1, false],
				[0, false],
				[1, false],
				[0, true],
			],
		);
		await assertAsTheLogSays(store, id);
	}
});
