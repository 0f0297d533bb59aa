import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { defaultGoals, type Goal, goalDefaults } from '../../../../src/core/domain/goal.ts';
import { defaultSegments, type Segment } from '../../../../src/core/domain/segment.ts';
import { noCadences } from '../../../../src/core/domain/subscription-cadence.ts';
import { dayMs, minuteMs } from '../../../../src/core/durations.ts';
import { addAccount, assertRefuses, type Engine, openAccountOn } from '../engines.ts';

/** What they add is in their tests. */
const ofCapabilities = { experiments: 0, webhooks: 0 };

/** The contract of every engine for goals, segments, models, signing keys and revocations. */
export function scoringContract(engine: Engine): void {
	suite(`goals, segments, models and casks on ${engine.name}`, () => {
		const start = async () => {
			const { store, aid, accountId } = await openAccountOn(engine);
			const known = async () => {
				const account = (await store.control.accessSnapshot()).accounts.get(aid);
				assert.ok(account);
				return account;
			};
			return { store, control: store.control, aid, accountId, known };
		};

		test('an account starts with the default goals and segments, and servers know them', async () => {
			const { aid, control, accountId, known } = await start();
			assert.deepEqual(await control.goals(accountId), defaultGoals);
			assert.deepEqual(await control.segments(accountId), defaultSegments);
			const account = await known();
			assert.deepEqual(account.goals, await control.goals(accountId));
			assert.deepEqual(account.segments, await control.segments(accountId));
			assert.deepEqual(
				{ ...account, goals: 0, segments: 0, visitorSecret: '', ...ofCapabilities },
				{
					id: accountId,
					clientId: account.clientId,
					client: 'acme',
					aid,
					visitorSecret: '',
					identitySecrets: null,
					origins: [],
					explains: false,
					tellsExperiments: false,
					channelRules: [],
					timezone: 'UTC',
					paymentProviders: [],
					renewalDays: {},
					graceDays: {},
					cancellationEvt: null,
					currency: 'GBP',
					idTrust: 'claimed',
					goals: 0,
					segments: 0,
					models: [],
					baseRates: new Map(),
					revocations: new Map(),
					cadences: noCadences,
					keepsConflicts: false,
					isFollowed: false,
					...ofCapabilities,
				},
			);
		});

		test('goals and segments are created once and deleted once, separately for each account', async () => {
			const { store, control, accountId, known } = await start();
			const other = await addAccount(store);
			const goal = { name: 'trial', evts: ['trial', 'Probe "Ü"'], ...goalDefaults, horizonDays: 0.5 };
			const segment = { id: 'keen', name: 'Keen "ones"', rule: 'visitor.hits > 3' };
			await control.createGoal(accountId, goal);
			await control.createSegment(accountId, segment);
			await assertRefuses(control.createGoal(accountId, goal), /a goal trial already/);
			await assertRefuses(control.createSegment(accountId, segment), /a segment keen already/);
			assert.deepEqual((await known()).goals.at(-1), goal);
			assert.deepEqual((await known()).segments.at(-1), segment);
			assert.equal((await control.goals(other)).length, defaultGoals.length);
			assert.equal((await control.segments(other)).length, defaultSegments.length);
			const bands = { mediumFrom: 20, highFrom: 99.5 };
			assert.deepEqual(await control.updateGoal(accountId, 'trial', bands), { ...goal, ...bands });
			assert.deepEqual((await known()).goals.at(-1), { ...goal, ...bands });
			await assertRefuses(control.updateGoal(other, 'trial', bands), /has no goal trial/);
			assert.equal((await control.updateGoal(accountId, 'trial', { counts: 'refund' })).counts, 'refund');
			assert.equal((await known()).goals.at(-1)?.counts, 'refund');
			await control.deleteGoal(accountId, 'trial');
			await control.deleteSegment(accountId, 'keen');
			await assertRefuses(control.deleteGoal(accountId, 'trial'), /has no goal trial/);
			await assertRefuses(control.deleteSegment(accountId, 'keen'), /has no segment keen/);
			assert.equal((await known()).goals.length, defaultGoals.length);
			assert.equal((await known()).segments.length, defaultSegments.length);
		});

		test('goals and segments are listed in order of creation, and recreated ones come last', async () => {
			const { control, accountId, known } = await start();
			for (const name of ['z', 'a', 'm']) {
				await control.createGoal(accountId, { name, evts: [name], ...goalDefaults });
				await control.createSegment(accountId, { id: name, name, rule: 'true' });
			}
			await control.deleteGoal(accountId, 'subscription');
			await control.createGoal(accountId, defaultGoals[0] as Goal);
			await control.deleteSegment(accountId, 'new');
			await control.createSegment(accountId, defaultSegments[0] as Segment);
			const { goals, segments } = await known();
			assert.deepEqual(
				goals.map(({ name }) => name),
				['return', 'renewal', 'z', 'a', 'm', 'subscription'],
			);
			assert.deepEqual(
				segments.map(({ id }) => id),
				[...defaultSegments.slice(1).map(({ id }) => id), 'z', 'a', 'm', 'new'],
			);
		});

		test('fields left out of an update keep their values', async () => {
			const { aid, control, known } = await start();
			const channelRules = [{ channel: 'partner', pattern: 'utm_source=ours' }];
			await control.updateAccount(aid, { explains: true, origins: ['https://x.test'] });
			const updated = await control.updateAccount(aid, { channelRules });
			const { origins, explains } = await known();
			assert.deepEqual(
				[origins, explains, (await known()).channelRules],
				[['https://x.test'], true, channelRules],
			);
			assert.deepEqual(updated, await control.account(aid));
			await assertRefuses(
				control.updateAccount('c-a-none', { explains: true }),
				/There is no account c-a-none/,
			);
		});

		test('models get versions by day, and at most one of each goal and scope is active', async () => {
			const { control, accountId, known } = await start();
			const insert = (goal: string, scope: 'vid' | 'sid') =>
				control.insertModel(accountId, { goal, scope, body: `{"of":"${goal}"}`, report: '{"auc":0.7}' });
			const first = await insert('subscription', 'vid');
			const second = await insert('subscription', 'vid');
			const ofVisits = await insert('subscription', 'sid');
			assert.match(first.version, /^\d{4}-\d\d-\d\d\.1$/);
			assert.equal(second.version, first.version.replace(/1$/, '2'));
			assert.equal(ofVisits.version, first.version);
			assert.deepEqual((await known()).models, []);
			await control.activateModel(accountId, first);
			await control.activateModel(accountId, ofVisits);
			await control.activateModel(accountId, second);
			assert.deepEqual((await known()).models, [ofVisits, second]);
			assert.deepEqual(
				(await control.models(accountId))
					.filter(({ active }) => active)
					.map(({ version }) => version)
					.sort(),
				[first.version, second.version],
			);
			assert.equal(await control.modelBody(accountId, second), '{"of":"subscription"}');
			assert.equal(await control.modelReport(accountId, second), '{"auc":0.7}');
			await assertRefuses(control.deleteModel(accountId, second), /is active/);
			await control.activateModel(accountId, { goal: 'subscription', scope: 'vid', version: null });
			assert.deepEqual((await known()).models, [ofVisits]);
			await control.deleteModel(accountId, second);
			await assertRefuses(control.modelBody(accountId, second), /There is no model/);
			await assertRefuses(control.activateModel(accountId, second), /There is no model/);
			await assertRefuses(control.deleteModel(accountId, second), /There is no model/);
			assert.deepEqual((await control.models(accountId)).length, 2);
			assert.equal((await insert('subscription', 'vid')).version, first.version.replace(/1$/, '3'));
			await control.activateModel(accountId, first);
			await control.updateGoal(accountId, 'subscription', { counts: 'acquisition', highFrom: 80 });
			assert.deepEqual((await known()).models, [ofVisits, first]);
			await control.updateGoal(accountId, 'subscription', { counts: 'any' });
			assert.deepEqual(await control.models(accountId), []);
			await control.deleteGoal(accountId, 'subscription');
			assert.deepEqual(await control.models(accountId), []);
			assert.deepEqual((await known()).models, []);
			await control.createGoal(accountId, defaultGoals[0] as Goal);
			await assertRefuses(control.activateModel(accountId, first), /There is no model/);
			// If the version were reused, a score's version could mean either model.
			assert.equal((await insert('subscription', 'vid')).version, first.version.replace(/1$/, '4'));
		});

		test('of 8 processes that need the first signing key at once, one creates it', async () => {
			const { control } = await start();
			const keys = await Promise.all(Array.from({ length: 8 }, () => control.ensureSigningKeys()));
			const [key] = await control.signingKeys();
			for (const known of keys) assert.deepEqual(known, [key]);
			assert.equal(Buffer.from(key?.secret ?? '', 'base64url').length, 32);
			assert.equal(key?.retiresAtMs, null);
		});

		test('after a rotation the new key comes first, and the earlier one stays valid for a day', async () => {
			const { control } = await start();
			const [first] = await control.ensureSigningKeys();
			const second = await control.rotateSigningKeys();
			const [newest, earlier, ...others] = await control.signingKeys();
			assert.deepEqual([newest, others], [second, []]);
			assert.equal(earlier?.kid, first?.kid);
			const leftMs = Number(earlier?.retiresAtMs) - Date.now();
			assert.ok(leftMs > dayMs - minuteMs && leftMs <= dayMs + 2000);
			assert.deepEqual((await control.accessSnapshot()).signingKeys, [newest, earlier]);
			assert.deepEqual(await control.ensureSigningKeys(), [newest, earlier]);
		});

		test('the latest revocation of a visitor or visit counts', async () => {
			const { control, accountId, known } = await start();
			const [vid, sid] = ['0'.repeat(32), '1'.repeat(32)];
			const beforeMs = Date.now();
			await control.revokeCasks(accountId, [vid, sid]);
			const { revocations } = await known();
			assert.deepEqual([...revocations.keys()].sort(), [vid, sid]);
			assert.ok(Number(revocations.get(vid)) >= beforeMs);
			await control.revokeCasks(accountId, [vid]);
			assert.ok(Number((await known()).revocations.get(vid)) >= Number(revocations.get(vid)));
			assert.equal((await known()).revocations.get(sid), revocations.get(sid));
		});
	});
}
