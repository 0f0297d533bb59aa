import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import '../../../../src/capabilities/people/index.ts';
import { assertRefuses, type Engine, openAccountOn } from '../engines.ts';

/** The contract of every engine for named views. */
export function viewsContract(engine: Engine): void {
	suite(`named views on ${engine.name}`, () => {
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
