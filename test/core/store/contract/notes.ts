import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { assertRefuses, type Engine, openAccountOn } from '../engines.ts';

/** The contract of every engine for notes on days. */
export function notesContract(engine: Engine): void {
	suite(`notes on ${engine.name}`, () => {
		test('people write notes, and what changes how figures come about writes its own', async () => {
			const { store, accountId, aid } = await openAccountOn(engine);
			const { control } = store;
			const texts = async () => (await control.notes.list(accountId)).map(({ text }) => text);
			assert.deepEqual(await texts(), [], 'what an account begins with is no change');
			await control.notes.add(accountId, 'Price raised', { day: '2026-03-29', who: 'ada@example.com' });
			const [note] = await control.notes.list(accountId);
			assert.deepEqual([note?.day, note?.text, note?.who], ['2026-03-29', 'Price raised', 'ada@example.com']);
			const other = await openAccountOn(engine);
			assert.deepEqual(await other.store.control.notes.list(other.accountId), []);
			await assertRefuses(other.store.control.notes.remove(other.accountId, note?.id ?? ''), /no such note/);
			await control.notes.remove(accountId, note?.id ?? '');
			await assertRefuses(control.notes.remove(accountId, note?.id ?? ''), /no such note/);

			await control.createSegment(accountId, { id: 'often', name: 'Often', rule: 'true' });
			await control.updateSegment(accountId, 'often', { name: 'Very often', rule: 'true' });
			await control.updateSegment(accountId, 'often', { rule: 'false' });
			await control.deleteSegment(accountId, 'often');
			const channelRules = [{ channel: 'partner', pattern: 'partner.example/*' }];
			await control.updateAccount(aid, { channelRules });
			await control.updateAccount(aid, { channelRules, explains: true });
			const model = { goal: 'subscription', scope: 'vid', body: '{}', report: '{}' } as const;
			const { version } = await control.insertModel(accountId, model, 'activate it');
			await control.activateModel(accountId, { ...model, version });
			await control.activateModel(accountId, { ...model, version: null });
			await control.notes.addOnce('From now on all is well.');
			await control.notes.addOnce('From now on all is well.');
			const written = await control.notes.list(accountId);
			assert.ok(written.every(({ day, who }) => day === null && who === null));
			assert.deepEqual(
				(await texts()).sort(),
				[
					'From now on all is well.',
					`From now on, scores of visitors for the goal subscription come from model ${version}.`,
					'From now on, scores of visitors for the goal subscription come from the base rate.',
					'The rule of the segment often was changed.',
					'The rules of channels were changed.',
					'The segment often was added.',
					'The segment often was deleted.',
				].sort(),
			);
		});
	});
}
