import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { capabilities } from '../../../../src/assembly/capabilities.ts';
import type { AnyAct } from '../../../../src/kit/act.ts';
import { loadAct, managedActsOf } from '../../../../src/kit/operations/manage.ts';
import { openAccount } from '../../../shared-server.ts';
import { startService } from '../../../support.ts';
import { ask, manageKeyOf } from './manage.ts';

test('what is about no account, or for administrators, has no address', async () => {
	const service = await openAccount();
	const key = await manageKeyOf(service);
	for (const act of [
		'account/delete',
		'account/create',
		'user/create',
		'plan/create',
		'key/issue',
		'goal/paint',
	])
		assert.equal((await ask(service, key, act, { aid: service.aid })).status, 404, act);
});

test('every act about an account that operators may do has one', async () => {
	const src = join(import.meta.dirname, '../../../../src');
	const all: string[] = [];
	// Views are people's, and a key is nobody.
	for (const file of globSync('capabilities/*/{acts,acts/*}.ts', { cwd: src }))
		for (const made of Object.values(await import(join(src, file))) as AnyAct[])
			if (made?.verb && !made.isOfAll && made.right !== 'administer' && made.noun !== 'view')
				all.push(`${made.noun} ${made.verb}`);
	const managed: string[] = [];
	for (const [noun, acts] of Object.entries(managedActsOf(capabilities)))
		for (const verb of acts.verbs) {
			await loadAct(acts, noun, verb);
			managed.push(`${noun} ${verb}`);
		}
	assert.deepEqual(managed.sort(), all.sort());
});

test('a server without the role has none', async (t) => {
	const service = await startService(t, { roles: ['api', 'collect'] });
	const key = await manageKeyOf(service);
	assert.equal((await ask(service, key, 'note/add', { aid: service.aid })).status, 404);
});
