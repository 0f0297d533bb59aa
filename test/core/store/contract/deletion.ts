import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { deleteAccount } from '../../../../src/capabilities/accounts/acts/account-acts.ts';
import { deleteClient } from '../../../../src/capabilities/accounts/acts/client-acts.ts';
import { deletePlan } from '../../../../src/capabilities/accounts/acts/plan-acts.ts';
import { standardPlan } from '../../../../src/core/domain/usage-plan.ts';
import type { OpenStore } from '../../../../src/core/store/store.ts';
import { runAct } from '../../../../src/kit/act.ts';
import { openStore } from '../../../whole.ts';
import {
	addAccount,
	assertRefuses,
	type Engine,
	openFor,
	startWritingFor,
	storedEvents,
	subscriptionEvent,
	upload,
} from '../engines.ts';
import { hit } from '../made-hits.ts';
import { sessionOn } from '../postgres/service.ts';

/** The databases of accounts that there are: the numbers in their names. */
export async function accountDatabases(t: TestContext, address: string): Promise<number[]> {
	if (address.startsWith('sqlite:')) {
		const folder = join(address.slice('sqlite:'.length), 'accounts');
		return existsSync(folder)
			? [...new Set(readdirSync(folder).map((name) => Number.parseInt(name, 10)))]
			: [];
	}
	const { rows } = await (await sessionOn(t, address)).query(
		"SELECT nspname AS name FROM pg_namespace WHERE nspname ~ '^caskade_account_' ORDER BY oid",
	);
	return rows.map(({ name }) => Number(name.replace('caskade_account_', '')));
}

/** The contract of every engine for ending what there is. */
export function deletionContract(engine: Engine): void {
	suite(`deletions on ${engine.name}`, () => {
		const start = async (t: TestContext) => {
			const address = await engine.freshAddress(t);
			const store = await openFor(t, address);
			return { address, store, control: store.control };
		};

		const remove = async (store: OpenStore, aid: string) =>
			runAct(deleteAccount, 'a test', { store, account: await store.control.account(aid) }, {});

		test('an account goes with its database and every row about it, and nothing of others', async (t) => {
			const { address, store, control } = await start(t);
			const [gone, kept] = [await addAccount(store, 'c-a-gone'), await addAccount(store, 'c-a-kept')];
			const writer = await startWritingFor(t, store);
			for (const id of [gone, kept]) {
				await writer.storeHit(id, hit());
				await upload(writer, id, [subscriptionEvent()]);
				await control.revokeCasks(id, ['a'.repeat(32)]);
				const settings = { url: 'https://x.test/', events: ['goal.reached'] as const };
				await control.createWebhook(id, { ...settings, withCid: false, allowPrivate: false });
				await control.insertModel(id, { goal: 'return', scope: 'vid', body: '{}', report: '{}' });
				const aid = id === gone ? 'c-a-gone' : 'c-a-kept';
				await control.people.create(`${aid}@example.com`, [{ aid, role: 'viewer' }]);
			}
			const { id: keyId } = await control.issueKey('acme', 'standard');
			await writer.stop();
			assert.deepEqual(await accountDatabases(t, address), [gone, kept]);
			await remove(store, 'c-a-gone');
			assert.deepEqual(await accountDatabases(t, address), [kept]);
			const { client, account, api_key, ...content } = await control.content();
			assert.deepEqual([client.length, account.map(({ aid }) => aid)], [1, ['c-a-kept']]);
			assert.deepEqual(
				api_key.map(({ id }) => id),
				[keyId],
			);
			for (const table of ['goal', 'segment', 'model', 'webhook', 'revocation', 'grant'] as const)
				assert.deepEqual([...new Set(content[table]?.map((row) => row.account_id))], [kept], table);
			assert.equal((await storedEvents(store, kept)).length, 1);
			assert.deepEqual([...(await control.accessSnapshot()).accounts.keys()], ['c-a-kept']);
			await assertRefuses(remove(store, 'c-a-gone'), /There is no account c-a-gone/);
			const again = await addAccount(store, 'c-a-gone');
			assert.ok(again > kept, 'no number is used twice');
			assert.deepEqual(await storedEvents(store, again), []);
			assert.equal(await control.isAccountInUse(gone), false);
			assert.equal(await control.isAccountInUse(again), true);
		});

		test('a deletion that was interrupted, or whose database is lost, is completed', async (t) => {
			const { address, store, control } = await start(t);
			const id = await addAccount(store, 'c-a-gone');
			await store.deleteAccountDatabase(id);
			await store.deleteAccountDatabase(id);
			await control.setAccountDisabled('c-a-gone', true);
			await remove(store, 'c-a-gone');
			assert.deepEqual(await control.accounts(), []);
			assert.deepEqual(await accountDatabases(t, address), []);
		});

		test('a client with accounts or usable keys stays; without, it goes with its other keys', async (t) => {
			const { store, control } = await start(t);
			for (const aid of ['c-a-1', 'c-a-2', 'c-a-3', 'c-a-4']) await addAccount(store, aid);
			await addAccount(store, 'c-a-other', 'other');
			const writer = await startWritingFor(t, store);
			const keys = [await control.issueKey('acme', 'standard'), await control.issueKey('acme', 'standard')];
			const [first, second] = keys.map(({ id }) => id) as [string, string];
			await control.issueKey('other', 'standard');
			const month = new Date().toISOString().slice(0, 7);
			const lease = {
				keyId: first,
				month,
				used: 0,
				seq: 1,
				ask: { kind: 'lease', quotaPerMonth: 100 },
			} as const;
			await writer.settleQuotas([lease]);
			await assertRefuses(
				control.deleteClient('acme'),
				new RegExp(
					`^Client acme still has accounts \\(c-a-1, c-a-2, c-a-3 and 1 more\\) and keys \\(${first}, ${second}\\); end them first with 'caskade account delete AID' and 'caskade key revoke ID'\\.$`,
				),
			);
			for (const aid of ['c-a-1', 'c-a-2', 'c-a-3', 'c-a-4']) await control.deleteAccount(aid);
			await control.revokeKey(first);
			await assertRefuses(control.deleteClient('acme'), new RegExp(`still has keys \\(${second}\\);`));
			await control.revokeKey(second);
			await control.deleteClient('acme');
			const { client, api_key, usage } = await control.content();
			assert.deepEqual([client.map(({ name }) => name), api_key.length, usage], [['other'], 1, []]);
			await assertRefuses(
				runAct(deleteClient, 'a test', { store, account: undefined }, { client: 'acme' }),
				/There is no client acme/,
			);
			const report = { keyId: first, month, used: 3, seq: 2, ask: { kind: 'return' } } as const;
			assert.deepEqual(await writer.settleQuotas([report]), [null], 'a late report is ignored');
		});

		test('a plan with usable keys stays, and so does the standard plan', async (t) => {
			const { store, control } = await start(t);
			await addAccount(store, 'c-a-1');
			await control.createPlan({ ...standardPlan, name: 'large' });
			const { id } = await control.issueKey('acme', 'large', { expiresInMs: 3_600_000 });
			await control.issueKey('acme', 'standard');
			const remove = (from: OpenStore, plan: string) =>
				runAct(deletePlan, 'ada', { store: from, account: undefined }, { plan });
			await assertRefuses(
				remove(store, 'large'),
				new RegExp(`^Plan large still has keys \\(${id}\\); end them first with 'caskade key revoke ID'\\.$`),
			);
			await assertRefuses(remove(store, 'standard'), /The plan standard always exists/);
			await assertRefuses(remove(store, 'none'), /There is no plan none/);
			const later = { now: () => Date.now() + 7_200_000 };
			const inTwoHours = await openStore(store.place.database, later);
			t.after(() => inTwoHours.close());
			await remove(inTwoHours, 'large');
			assert.deepEqual(await control.plans(), [standardPlan]);
			assert.deepEqual(
				(await control.keys()).map(({ plan }) => plan),
				['standard'],
			);
		});
	});
}
