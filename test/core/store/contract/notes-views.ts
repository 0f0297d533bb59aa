import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { assertRefuses, type Engine, openAccountOn } from '../engines.ts';

/** The contract of every engine for notes on days and named views. */
export function notesAndViewsContract(engine: Engine): void {
	suite(`notes and named views on ${engine.name}`, () => {
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
					`Scores of subscription, of visitors, are those of model ${version} from now on.`,
					'Scores of subscription, of visitors, are those of the base rate from now on.',
					'The rule of the segment often was changed.',
					'The rules of channels were changed.',
					'The segment often was added.',
					'The segment often was deleted.',
				].sort(),
			);
		});

		test('a view is saved for a person or for all, replaced under its name, and goes with the person', async () => {
			const { store, accountId, aid } = await openAccountOn(engine);
			const { control } = store;
			const [ada, bob] = await Promise.all(
				['ada', 'bob'].map((name) =>
					control.people.create(`${name}@${aid}.example.com`, [{ aid, role: 'viewer' }]),
				),
			);
			assert.ok(ada && bob);
			const view = { name: 'Spring', page: 'attribution', query: 'period=91' };
			await control.views.save(accountId, ada.id, view);
			await control.views.save(accountId, null, { ...view, name: 'All', page: '' });
			await control.views.save(accountId, ada.id, { ...view, query: 'period=7' });
			const of = async (person: { id: string }) =>
				(await control.views.list(accountId, person.id)).map(({ name, query, isShared }) => [
					name,
					query,
					isShared,
				]);
			assert.deepEqual(await of(ada), [
				['All', 'period=91', true],
				['Spring', 'period=7', false],
			]);
			assert.deepEqual(await of(bob), [['All', 'period=91', true]]);
			const [shared, own] = await control.views.list(accountId, ada.id);
			await assertRefuses(control.views.remove(accountId, bob.id, own?.id ?? ''), /no such view/);
			await assertRefuses(control.views.remove(accountId, ada.id, shared?.id ?? ''), /no such view/);
			await control.views.remove(accountId, null, shared?.id ?? '');
			await control.people.remove(ada.email);
			assert.deepEqual(await of(ada), []);
			for (let number = 0; number < 50; number++)
				await control.views.save(accountId, bob.id, { ...view, name: `${number}` });
			await assertRefuses(control.views.save(accountId, bob.id, view), /50 views already/);
			await control.views.save(accountId, bob.id, { ...view, name: '7', query: '' });
		});
	});
}
