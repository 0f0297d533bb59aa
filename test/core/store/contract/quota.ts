import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import type { QuotaSettlement } from '../../../../src/core/domain/quota-lease.ts';
import { standardPlan } from '../../../../src/core/domain/usage-plan.ts';
import { type Engine, openFor, startServingFor, startWritingFor } from '../engines.ts';

/** The contract of every engine for quotas and usage. */
export function quotaContract(engine: Engine): void {
	suite(`quota and usage on ${engine.name}`, () => {
		const month = new Date().toISOString().slice(0, 7);

		async function startCounting(t: TestContext, quotaPerMonth: number) {
			const serving = await startServingFor(t, engine);
			const plan = await serving.store.control.createPlan({ ...standardPlan, name: 'small', quotaPerMonth });
			const { id: keyId } = await serving.store.control.issueKey('acme', plan.name);
			const usage = async () => {
				const [key] = (await serving.store.control.usage()).filter(({ key }) => key === keyId);
				return { used: key?.used, forfeited: key?.forfeited, remaining: key?.remaining };
			};
			const settlement = (
				seq: number,
				used: number,
				kind: 'lease' | 'return' | 'nothing',
				quota = quotaPerMonth,
			): QuotaSettlement => {
				const ask = kind === 'lease' ? { kind, quotaPerMonth: quota } : { kind };
				return { keyId, month, seq, used, ask };
			};
			const settle = async (...of: Parameters<typeof settlement>) =>
				(await serving.writer.settleQuotas([settlement(...of)]))[0];
			return { ...serving, keyId, usage, settlement, settle };
		}

		test('leases add up to the quota and no more', async (t) => {
			const { settle } = await startCounting(t, 1000);
			let [seq, leased] = [0, 0];
			for (let round = 0; round < 100; round++) {
				const holding = await settle(seq + 1, leased, 'lease');
				assert.ok(holding);
				const granted = holding.leased - leased;
				assert.ok(granted >= 0 && granted <= 75, 'a crash may forfeit 100 at most');
				assert.equal(holding.leasedByAll, holding.leased);
				({ seq, leased } = holding);
			}
			assert.equal(leased, 1000);
		});

		test('returned quota can be leased again, and months are separate', async (t) => {
			const { writer, keyId, usage, settle } = await startCounting(t, 1);
			assert.deepEqual(await settle(1, 0, 'lease'), { seq: 1, leased: 1, used: 0, leasedByAll: 1 });
			assert.equal((await settle(2, 0, 'lease'))?.leased, 1);
			const ask = { kind: 'lease', quotaPerMonth: 1 } as const;
			const [other] = await writer.settleQuotas([{ keyId, month: '2025-01', seq: 1, used: 0, ask }]);
			assert.equal(other?.leased, 1);
			assert.equal((await settle(3, 0, 'return'))?.leased, 0);
			assert.equal((await settle(4, 0, 'lease'))?.leased, 1);
			assert.deepEqual(await usage(), { used: 0, forfeited: 0, remaining: 1 });
			await settle(5, 1, 'nothing');
			assert.deepEqual(await usage(), { used: 1, forfeited: 0, remaining: 0 });
		});

		test('a quota reduced below what is leased grants nothing more', async (t) => {
			const { settle } = await startCounting(t, 1000);
			const first = await settle(1, 0, 'lease');
			const leased = first?.leased ?? 0;
			assert.equal((await settle(2, 0, 'lease', leased - 1))?.leased, leased);
		});

		test('repeated and late settlements count once', async (t) => {
			const { writer, settle, settlement, usage } = await startCounting(t, 1000);
			const held = await settle(1, 0, 'lease');
			assert.deepEqual(await settle(1, 0, 'lease'), held);
			await settle(2, 7, 'nothing');
			await settle(2, 7, 'nothing');
			await settle(2, 3, 'nothing');
			assert.deepEqual(await usage(), { used: 7, forfeited: 0, remaining: 993 });
			await settle(2, 20, 'return');
			const again = await settle(3, 20, 'lease');
			assert.ok((again?.leased ?? 0) > 20);
			assert.deepEqual(await settle(2, 20, 'return'), again, 'a return from before the lease');
			const many = Array.from({ length: 5 }, () => writer.settleQuotas([settlement(4, 20, 'lease')]));
			const [first, ...others] = await Promise.all(many);
			for (const other of others) assert.deepEqual(other, first);
			assert.deepEqual(await usage(), { used: 20, forfeited: 0, remaining: 980 });
		});

		test('nothing is returned for unknown leases', async (t) => {
			const { settle, usage } = await startCounting(t, 1000);
			assert.equal(await settle(2, 10, 'lease'), null);
			assert.equal(await settle(1, 10, 'return'), null);
			assert.equal(await settle(1, 10, 'nothing'), null);
			assert.deepEqual(await usage(), { used: 0, forfeited: 0, remaining: 1000 });
		});

		test('concurrent settlements of several keys and servers add up', async (t) => {
			const { address, store, keyId, writer } = await startCounting(t, 1000);
			const { id: otherKey } = await store.control.issueKey('acme', 'small');
			const writers = [writer];
			if (!engine.isFolder)
				for (let more = 0; more < 3; more++)
					writers.push(await startWritingFor(t, await openFor(t, address)));
			const settleAll = (keyIds: string[], seq: number, used: number, kind: 'lease' | 'nothing') =>
				writers.map((each) =>
					each.settleQuotas(
						keyIds.map((key) => {
							const ask = kind === 'lease' ? { kind, quotaPerMonth: 1000 } : { kind };
							return { keyId: key, month, seq, used, ask };
						}),
					),
				);
			await Promise.all([...settleAll([keyId], 1, 0, 'lease'), ...settleAll([otherKey], 1, 0, 'lease')]);
			for (let used = 1; used <= 20; used++)
				await Promise.all([
					...settleAll([keyId, otherKey], 2, used, 'nothing'),
					...settleAll([otherKey, keyId], 2, used, 'nothing'),
				]);
			for (const usage of await store.control.usage()) {
				assert.equal(usage.used, 20 * writers.length);
				assert.equal(usage.forfeited, 0);
			}
		});

		test('the unused lease of a dead server is forfeited and not usable', async (t) => {
			const { address, store, writer, settle, usage } = await startCounting(t, 1000);
			const leased = (await settle(1, 0, 'lease'))?.leased ?? 0;
			await settle(2, 3, 'nothing');
			assert.deepEqual(await usage(), { used: 3, forfeited: 0, remaining: 997 });
			await writer.stop();
			const after = { used: 3, forfeited: leased - 3, remaining: 1000 - leased };
			assert.deepEqual(await usage(), after);
			const next = await startWritingFor(t, await openFor(t, address));
			assert.deepEqual(await usage(), after);
			const [{ key } = { key: '' }] = await store.control.usage();
			const ask = { kind: 'lease', quotaPerMonth: leased } as const;
			const [none] = await next.settleQuotas([{ keyId: key, month, seq: 1, used: 0, ask }]);
			assert.equal(none?.leased, 0);
		});
	});
}
