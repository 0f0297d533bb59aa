import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { standardPlan } from '../../../src/access/usage-plan.ts';
import { type Engine, openFor, startServingFor, startWritingFor } from '../engines.ts';

/** What every engine must do with quotas and usage. */
export function quotaContract(engine: Engine): void {
	suite(`quota and usage on ${engine.name}`, () => {
		const month = () => new Date().toISOString().slice(0, 7);

		async function startCounting(t: TestContext, quotaPerMonth: number) {
			const serving = await startServingFor(t, engine);
			const plan = await serving.store.control.createPlan({ ...standardPlan, name: 'small', quotaPerMonth });
			const { id: keyId } = await serving.store.control.issueKey('acme', plan.name);
			const usage = async () => {
				const [key] = (await serving.store.control.usage()).filter(({ key }) => key === keyId);
				return { used: key?.used, remaining: key?.remaining };
			};
			return { ...serving, plan, keyId, usage };
		}

		test('leases add up to the quota, however many ask at once, and to no more', async (t) => {
			const { writer, plan, keyId } = await startCounting(t, 1000);
			let granted = 0;
			for (let round = 0; round < 20; round++) {
				const leases = await Promise.all(
					Array.from({ length: 10 }, () => writer.leaseQuota(keyId, month(), plan)),
				);
				for (const lease of leases) {
					granted += lease.granted;
					assert.ok(lease.granted >= 0 && lease.granted <= 100, 'a crash may forfeit 100 at most');
					assert.ok(lease.leased <= plan.quotaPerMonth);
				}
				assert.ok(granted <= plan.quotaPerMonth);
			}
			assert.equal(granted, plan.quotaPerMonth);
		});

		test('what is given back can be leased again; months are apart', async (t) => {
			const { writer, plan, keyId, usage } = await startCounting(t, 1);
			assert.equal((await writer.leaseQuota(keyId, month(), plan)).granted, 1);
			assert.equal((await writer.leaseQuota(keyId, month(), plan)).granted, 0);
			assert.equal((await writer.leaseQuota(keyId, '2025-01', plan)).granted, 1);
			await writer.recordUsage([{ keyId, month: month(), used: 0, returned: 1 }]);
			assert.equal((await writer.leaseQuota(keyId, month(), plan)).granted, 1);
			assert.deepEqual(await usage(), { used: 0, remaining: 1 });
			await writer.recordUsage([{ keyId, month: month(), used: 1, returned: 0 }]);
			assert.deepEqual(await usage(), { used: 1, remaining: 0 });
		});

		test('a quota that was made smaller than what is leased grants nothing more', async (t) => {
			const { writer, plan, keyId } = await startCounting(t, 1000);
			const { leased } = await writer.leaseQuota(keyId, month(), plan);
			assert.deepEqual(await writer.leaseQuota(keyId, month(), { ...plan, quotaPerMonth: leased - 1 }), {
				granted: 0,
				leased,
			});
		});

		test('usage adds up over reports', async (t) => {
			const { writer, plan, keyId, usage } = await startCounting(t, 1000);
			const { granted } = await writer.leaseQuota(keyId, month(), plan);
			assert.ok(granted > 10);
			await writer.recordUsage([{ keyId, month: month(), used: 3, returned: 0 }]);
			await writer.recordUsage([
				{ keyId, month: month(), used: 4, returned: 0 },
				{ keyId, month: '2025-01', used: 100, returned: 0 },
			]);
			assert.deepEqual(await usage(), { used: 7, remaining: 993 });
		});

		const skip = !engine.isFolder && 'other servers may be alive, and theirs are not lost';
		test('leases that an ended server has not given back count as used', { skip }, async (t) => {
			const { address, writer, plan, keyId, usage } = await startCounting(t, 1000);
			const { granted } = await writer.leaseQuota(keyId, month(), plan);
			await writer.recordUsage([{ keyId, month: month(), used: 3, returned: 0 }]);
			await writer.stop();
			assert.deepEqual(await usage(), { used: 3, remaining: 997 });
			await startWritingFor(t, await openFor(t, address));
			assert.deepEqual(await usage(), { used: granted, remaining: 1000 - granted });
		});
	});
}
