import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { dayMs } from '../../../../src/core/durations.ts';
import { eventually } from '../../../eventually.ts';
import { addClient, serveAt } from '../../../support.ts';
import { type Engine, enginesAboveContract, openFor } from '../../store/engines.ts';
import { uploadTids } from '../../store/postgres/service.ts';

const quotaPerMonth = 10;
const november = Date.UTC(2026, 10, 30, 23, 59, 50);
const december = Date.UTC(2026, 11, 1);

/** A server whose clock the test sets, with the number of requests admitted in each month of that clock. */
async function start(t: TestContext, engine: Engine) {
	const address = await engine.installedAddress(t);
	const store = await openFor(t, address);
	const client = await addClient(store, { plan: { quotaPerMonth } });
	const clock = { nowMs: november };
	const server = await serveAt(address, { now: () => clock.nowMs });
	t.after(() => server.stop());
	let number = 0;
	return {
		clock,
		store,
		/** Uploads sequentially. @returns how many were admitted */
		async admitted(uploads: number): Promise<number> {
			let admitted = 0;
			for (let n = 0; n < uploads; n++) {
				const { status, body } = await uploadTids(server.url, client, [`T-${number++}`]);
				assert.ok(status === 201 || body === '{"message":"Too Many Requests"}', body);
				if (status === 201) admitted++;
			}
			return admitted;
		},
	};
}

for (const engine of enginesAboveContract) {
	test(`on ${engine.name} a clock that jumps into the next month and back admits no more than either quota`, async (t) => {
		const { clock, admitted } = await start(t, engine);
		const inNovember = await admitted(6);
		clock.nowMs = december;
		const inDecember = await admitted(4);
		clock.nowMs = november;
		assert.equal(inNovember + (await admitted(12)), quotaPerMonth);
		clock.nowMs = december + 1000;
		assert.equal(inDecember + (await admitted(12)), quotaPerMonth);
		for (const nowMs of [november, december, november - dayMs, december + dayMs]) {
			clock.nowMs = nowMs;
			assert.equal(await admitted(2), 0);
		}
	});

	test(`on ${engine.name} a quota used up before the clock steps back within the month can be raised`, async (t) => {
		const { clock, store, admitted } = await start(t, engine);
		assert.equal(await admitted(12), quotaPerMonth);
		clock.nowMs -= dayMs;
		const [plan] = (await store.control.plans()).filter(({ name }) => name !== 'standard');
		await store.control.updatePlan({ ...(plan as NonNullable<typeof plan>), quotaPerMonth: 20 });
		await eventually('a larger quota is used', async () => (await admitted(1)) === 1);
	});
}
