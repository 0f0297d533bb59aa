import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { goalDefaults } from '../../../../src/core/domain/goal.ts';
import { signingKeyAt } from '../../../../src/core/domain/signing-key.ts';
import { hourMs } from '../../../../src/core/durations.ts';
import { openStore } from '../../../whole.ts';
import { addAccount, type Engine } from '../engines.ts';

const atMs = Date.UTC(2026, 10, 21, 10);

/** What is created later comes later, even within one millisecond and when clocks step back. */
export function orderContract(engine: Engine): void {
	suite(`the order of what is made on ${engine.name}`, () => {
		const start = async (t: TestContext) => {
			const clock = { nowMs: atMs };
			const store = await openStore(await engine.installedAddress(t), { now: () => clock.nowMs });
			t.after(() => store.close());
			const accountId = await addAccount(store, 'c-a-acme-uk');
			return { clock, store, control: store.control, accountId };
		};

		test('of signing keys created in one millisecond, the last comes first', async (t) => {
			const { clock, control } = await start(t);
			const kids = [(await control.ensureSigningKeys())[0]?.kid];
			for (let made = 1; made <= 20; made++) {
				kids.unshift((await control.rotateSigningKeys()).kid);
				assert.deepEqual(
					(await control.signingKeys()).map(({ kid }) => kid),
					kids,
				);
			}
			clock.nowMs += 2000;
			assert.equal(signingKeyAt(await control.signingKeys(), clock.nowMs)?.kid, kids[0]);
			assert.deepEqual(
				(await control.accessSnapshot()).signingKeys.map(({ kid }) => kid),
				kids,
			);
		});

		test('a key that was rotated while the clock was an hour back never signs again', async (t) => {
			const { clock, control } = await start(t);
			await control.ensureSigningKeys();
			const before = await control.rotateSigningKeys();
			clock.nowMs -= hourMs;
			const newest = await control.rotateSigningKeys();
			for (const passedMs of [2000, hourMs + 2000]) {
				clock.nowMs = atMs - hourMs + passedMs;
				const keys = await control.signingKeys();
				assert.deepEqual([keys[0]?.kid, keys[1]?.kid], [newest.kid, before.kid]);
				assert.equal(signingKeyAt(keys, clock.nowMs)?.kid, newest.kid);
			}
		});

		test('API keys are listed in order of issue, in lists and in usage', async (t) => {
			const { clock, control } = await start(t);
			const ids: string[] = [];
			for (let issued = 0; issued < 20; issued++) {
				if (issued === 10) clock.nowMs -= hourMs;
				ids.push((await control.issueKey('acme', 'standard')).id);
			}
			assert.deepEqual(
				(await control.keys()).map(({ id }) => id),
				ids,
			);
			assert.deepEqual(
				(await control.usage()).map(({ key }) => key),
				ids,
			);
		});

		test('models and their versions are listed in order of creation', async (t) => {
			const { clock, control, accountId } = await start(t);
			const versions: string[] = [];
			for (let made = 0; made < 12; made++) {
				if (made === 11) clock.nowMs -= hourMs;
				const model = { goal: 'subscription', scope: 'vid', body: '{}', report: '{}' } as const;
				versions.push((await control.insertModel(accountId, model)).version);
			}
			assert.deepEqual(
				(await control.models(accountId)).map(({ version }) => version),
				versions,
			);
		});

		test('goals and segments are listed in order of creation, with the time of creation', async (t) => {
			const { clock, control, accountId } = await start(t);
			const goal = { ...goalDefaults, evts: ['*'] };
			const names = (await control.goals(accountId)).map(({ name }) => name);
			const ids = (await control.segments(accountId)).map(({ id }) => id);
			for (const name of ['z', 'm', 'a', 'q']) {
				if (name === 'a') clock.nowMs -= hourMs;
				await control.createGoal(accountId, { ...goal, name });
				await control.createSegment(accountId, { id: name, name, rule: 'visitor.visits > 1' });
				names.push(name);
				ids.push(name);
			}
			const snapshot = (await control.accessSnapshot()).accounts.get('c-a-acme-uk');
			for (const goals of [await control.goals(accountId), snapshot?.goals ?? []])
				assert.deepEqual(
					goals.map(({ name }) => name),
					names,
				);
			for (const segments of [await control.segments(accountId), snapshot?.segments ?? []])
				assert.deepEqual(
					segments.map(({ id }) => id),
					ids,
				);
			const { goal: stored = [] } = await control.content();
			assert.ok(stored.length > 0);
			for (const { created_at } of stored) assert.ok(Number(created_at) <= atMs);
		});
	});
}
