import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { AccessDirectory } from '../../../../src/core/access/directory.ts';
import { standardPlan } from '../../../../src/core/domain/usage-plan.ts';
import { eventually } from '../../../eventually.ts';
import { openStore } from '../../../whole.ts';
import { addAccount, assertRefuses, type Engine, openFor, startWritingFor } from '../engines.ts';

/** What every engine must do with clients, accounts, keys and plans. */
export function controlContract(engine: Engine): void {
	suite(`the control database on ${engine.name}`, () => {
		const start = async (t: TestContext) => {
			const address = await engine.installedAddress(t);
			const store = await openFor(t, address);
			return { address, store, control: store.control };
		};

		test('an account is created once, with its client, and its name is unique over all clients', async (t) => {
			const { store, control } = await start(t);
			assert.equal(await control.hasClients(), false);
			await addAccount(store, 'c-a-acme-uk');
			await addAccount(store, 'c-a-acme-us');
			await assertRefuses(addAccount(store, 'c-a-acme-uk'), /^Account c-a-acme-uk exists already\.$/);
			await assertRefuses(addAccount(store, 'c-a-acme-uk', 'other'), /exists already/);
			assert.equal(await control.hasClients(), true);
			const accounts = await control.accounts();
			assert.deepEqual(
				accounts.map(({ aid, client, disabledAt }) => ({ aid, client, disabledAt })),
				[
					{ aid: 'c-a-acme-uk', client: 'acme', disabledAt: null },
					{ aid: 'c-a-acme-us', client: 'acme', disabledAt: null },
				],
			);
			await assertRefuses(control.issueKey('other', 'standard'), /There is no client other/);
		});

		test('accounts that are created at once do not wait for each other for ever', async (t) => {
			const { store, control } = await start(t);
			const aids = ['c-a-1', 'c-a-2', 'c-a-3', 'c-a-4', 'c-a-5'];
			// On a busy machine a connection may come too late; whoever waits for another does so again.
			const added = (aid: string) => addAccount(store, aid).catch(() => addAccount(store, aid));
			await Promise.all(aids.map(added));
			assert.deepEqual((await control.accounts()).map(({ aid }) => aid).sort(), aids);
		});

		test('an account whose database cannot be created does not exist', async (t) => {
			const { store, control } = await start(t);
			const account = { aid: 'c-a-acme-uk', client: 'acme', origins: [] };
			await assert.rejects(
				control.createAccount(account, () => Promise.reject(new Error('the disk is full'))),
				/the disk is full/,
			);
			assert.deepEqual(await control.accounts(), []);
			assert.equal(await control.hasClients(), false);
			await addAccount(store, 'c-a-acme-uk');
		});

		test('disabling and enabling an account is idempotent', async (t) => {
			const { store, control } = await start(t);
			await addAccount(store, 'c-a-acme-uk');
			const { disabledAt } = await control.setAccountDisabled('c-a-acme-uk', true);
			assert.notEqual(disabledAt, null);
			assert.equal((await control.setAccountDisabled('c-a-acme-uk', true)).disabledAt, disabledAt);
			assert.equal((await control.setAccountDisabled('c-a-acme-uk', false)).disabledAt, null);
			assert.equal((await control.setAccountDisabled('c-a-acme-uk', false)).disabledAt, null);
			await assertRefuses(control.setAccountDisabled('c-a-none', true), /There is no account c-a-none/);
		});

		test('disabling and enabling a client is idempotent, and does not affect other clients', async (t) => {
			const { store, control } = await start(t);
			await addAccount(store, 'c-a-acme-uk');
			await addAccount(store, 'c-a-acme-us');
			await addAccount(store, 'c-a-other-uk', 'other');
			await control.issueKey('other', 'standard');
			const revoked = await control.issueKey('acme', 'standard');
			await control.revokeKey(revoked.id);
			const { id } = await control.issueKey('acme', 'standard');
			const { disabledAt } = await control.setClientDisabled('acme', true);
			assert.notEqual(disabledAt, null);
			await delay(2);
			assert.equal((await control.setClientDisabled('acme', true)).disabledAt, disabledAt);
			const usable = async () => {
				const { keys, accounts } = await control.accessSnapshot();
				return { keys: [...keys.values()].map((key) => key.id), accounts: [...accounts.keys()].sort() };
			};
			const shutOut = await usable();
			assert.ok(!shutOut.keys.includes(id) && shutOut.keys.length === 1);
			assert.deepEqual(shutOut.accounts, ['c-a-other-uk']);
			assert.deepEqual(
				(await control.clients()).map(({ createdAt: _, ...client }) => client),
				[
					{ client: 'acme', accounts: 2, keys: 1, disabledAt },
					{ client: 'other', accounts: 1, keys: 1, disabledAt: null },
				],
			);
			await control.setAccountDisabled('c-a-acme-us', true);
			assert.equal((await control.setClientDisabled('acme', false)).disabledAt, null);
			assert.equal((await control.setClientDisabled('acme', false)).disabledAt, null);
			const back = await usable();
			assert.ok(back.keys.includes(id) && back.keys.length === 2);
			assert.deepEqual(back.accounts, ['c-a-acme-uk', 'c-a-other-uk']);
			await assertRefuses(control.setClientDisabled('none', true), /There is no client none/);
		});

		test('a key needs a client and a plan; revoking it is final and idempotent', async (t) => {
			const { store, control } = await start(t);
			await addAccount(store, 'c-a-acme-uk');
			await assertRefuses(control.issueKey('other', 'standard'), /There is no client other/);
			await assertRefuses(control.issueKey('acme', 'none'), /There is no plan none/);
			assert.deepEqual(await control.keys(), []);
			const { id, key } = await control.issueKey('acme', 'standard');
			assert.match(key, /^caskade_key_[\w-]{43}$/);
			assert.equal(JSON.stringify(await control.keys()).includes(key), false);
			const { revokedAt } = await control.revokeKey(id);
			assert.notEqual(revokedAt, null);
			await delay(2);
			assert.equal((await control.revokeKey(id)).revokedAt, revokedAt);
			await assertRefuses(control.revokeKey('k_none'), /There is no key k_none/);
		});

		test('a key may have a name, and an end', async (t) => {
			const { store, control } = await start(t);
			await addAccount(store, 'c-a-acme-uk');
			await addAccount(store, 'c-a-other', 'other');
			const dayMs = 86_400_000;
			const issued = await control.issueKey('acme', 'standard', { name: 'Nightly job', expiresInMs: dayMs });
			const [listed] = await control.keys();
			const { key, ...rest } = issued;
			const { createdAt, ...shown } = listed ?? assert.fail();
			assert.deepEqual(shown, { ...rest, lastUsedAt: null, revokedAt: null });
			assert.equal(Date.parse(issued.expiresAt as string) - Date.parse(createdAt), dayMs);
			await control.issueKey('other', 'standard', { expiresInMs: 1 });
			await delay(5);
			assert.deepEqual(
				(await control.clients()).map(({ client, keys }) => [client, keys]),
				[
					['acme', 1],
					['other', 0],
				],
			);
			assert.deepEqual(
				(await control.usage()).map((usage) => usage.key),
				[issued.id],
				'one that has expired unused has no usage',
			);
			assert.deepEqual(await control.keys('acme'), [listed]);
			await assertRefuses(control.keys('none'), /There is no client none/);
			const { keys } = await control.accessSnapshot();
			assert.deepEqual(
				[...keys.values()].map(({ id, expiresAtMs }) => expiresAtMs < Date.now() && id !== issued.id).sort(),
				[false, true],
			);
		});

		test('of what servers record of the use of keys, the latest counts', async (t) => {
			const { store, control } = await start(t);
			const writer = await startWritingFor(t, store);
			await addAccount(store, 'c-a-acme-uk');
			const ids = [];
			for (let count = 0; count < 3; count++) ids.push((await control.issueKey('acme', 'standard')).id);
			const [first, second] = ids as [string, string];
			const lastUsed = async () => (await control.keys()).map(({ lastUsedAt }) => lastUsedAt);
			const at = (ms: number) => new Date(ms).toISOString();
			assert.deepEqual(await lastUsed(), [null, null, null]);
			await writer.recordCounts({
				keyUses: [
					{ keyId: second, atMs: 7000 },
					{ keyId: first, atMs: 5000 },
					{ keyId: 'k_gone', atMs: 5000 },
				],
			});
			assert.deepEqual(await lastUsed(), [at(5000), at(7000), null]);
			await writer.recordCounts({
				keyUses: [
					{ keyId: first, atMs: 9000 },
					{ keyId: second, atMs: 6000 },
				],
			});
			assert.deepEqual(await lastUsed(), [at(9000), at(7000), null]);
			await writer.recordCounts({ keyUses: [] });
		});

		test('the standard plan always exists; others can be created once, and changed', async (t) => {
			const { control } = await start(t);
			assert.deepEqual(await control.plans(), [standardPlan]);
			const large = {
				name: 'large',
				ratePerSecond: 0.5,
				burst: 3,
				quotaPerMonth: Number.MAX_SAFE_INTEGER,
				timeoutMs: 9000,
				maxEvents: 100,
			};
			assert.deepEqual(await control.createPlan(large), large);
			await assertRefuses(control.createPlan({ ...large, burst: 4 }), /Plan large exists already/);
			assert.deepEqual(await control.plan('large'), large);
			assert.deepEqual(await control.updatePlan({ ...large, burst: 4 }), { ...large, burst: 4 });
			await assertRefuses(control.updatePlan({ ...large, name: 'none' }), /There is no plan none/);
			assert.deepEqual(await control.plans(), [{ ...large, burst: 4 }, standardPlan]);
		});

		test('a running server learns of keys, plans and accounts within a second', async (t) => {
			const { address, store, control } = await start(t);
			await addAccount(store, 'c-a-acme-uk');
			const second = await openStore(address);
			const directory = await AccessDirectory.load(second.control, (error) => {
				throw error;
			});
			t.after(async () => {
				await directory.stop();
				await second.close();
			});
			const { id, key } = await control.issueKey('acme', 'standard');
			assert.equal(directory.key(key), undefined);
			await eventually('a new key', () => directory.key(key)?.id === id);
			const { clientId, client } = directory.key(key) ?? {};
			assert.equal(client, 'acme');
			const known = (aid: string) => directory.account(aid)?.clientId === clientId;
			assert.equal(known('c-a-acme-uk'), true);

			await control.updatePlan({ ...standardPlan, burst: 7 });
			await eventually('a changed plan', () => directory.key(key)?.plan.burst === 7);
			await control.setAccountDisabled('c-a-acme-uk', true);
			await eventually('a disabled account', () => !known('c-a-acme-uk'));
			await control.setAccountDisabled('c-a-acme-uk', false);
			await eventually('an enabled account', () => known('c-a-acme-uk'));
			await addAccount(store, 'c-a-acme-us');
			await eventually('a new account', () => known('c-a-acme-us'));
			await control.setClientDisabled('acme', true);
			await eventually(
				'a disabled client',
				() => directory.key(key) === undefined && directory.account('c-a-acme-us') === undefined,
			);
			await control.setClientDisabled('acme', false);
			await eventually(
				'an enabled client',
				() => directory.key(key) !== undefined && directory.account('c-a-acme-us') !== undefined,
			);
			await control.revokeKey(id);
			await eventually('a revoked key', () => directory.key(key) === undefined);
		});
	});
}
