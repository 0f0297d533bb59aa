import assert from 'node:assert/strict';
import { test } from 'node:test';
import { capabilities } from '../../../../src/assembly/capabilities.ts';
import { type Field, isYes, takesMany } from '../../../../src/kit/act.ts';
import { loadAct, managedActsOf } from '../../../../src/kit/operations/manage.ts';
import { openAccount } from '../../../shared-server.ts';
import { ask, manageKeyOf } from './manage.ts';

const refusal = (validationErrors: string) => ({ message: 'Error managing account.', validationErrors });

test('every wrong field is named, and nothing is changed', async () => {
	const service = await openAccount();
	const { aid, store } = service;
	const key = await manageKeyOf(service);
	const before = (await store.control.content()).goal;
	for (const [body, problems] of [
		[{ aid }, 'name: it is required; evt: it is required'],
		[
			{ aid, name: 'x', evt: 'trial', counts: 'all', colour: 1 },
			'colour is not known here; evt: it must be a list of one or more; counts: it must be one of acquisition, first-payment, trial, renewal, refund, any',
		],
		[{ aid, name: { a: 1 }, evt: ['trial'] }, 'name: it must be a text or a number'],
		[{ aid: 7, name: 'x', evt: ['trial'] }, 'aid must be the token of one account'],
		['[]', 'it must be an object'],
	] as const) {
		const answer = await ask(service, key, 'goal/create', body);
		assert.equal(answer.status, 400);
		assert.deepEqual(await answer.json(), refusal(problems));
	}
	assert.deepEqual((await store.control.content()).goal, before);
});

test('what cannot be done says why, and is in the audit log as refused', async () => {
	const service = await openAccount();
	const { aid, store } = service;
	const key = await manageKeyOf(service);
	const answer = await ask(service, key, 'goal/delete', { aid, goal: 'nothing' });
	assert.equal(answer.status, 400);
	assert.match(((await answer.json()) as { validationErrors: string }).validationErrors, /no goal nothing/);
	const [entry] = await store.control.audit.list({ aid, limit: 1 });
	assert.deepEqual([entry?.action, entry?.about], ['refused: goal delete', 'nothing']);
});

test('an account of another client is not available', async () => {
	const [service, other] = [await openAccount(), await openAccount()];
	const key = await manageKeyOf(service);
	const answer = await ask(service, key, 'goal/delete', { aid: other.aid, goal: 'return' });
	assert.equal(answer.status, 400);
	assert.match(await answer.text(), /No account .* is available to this API key/);
});

test('whatever an act is given, the answer is what it made or what is wrong', async () => {
	const service = await openAccount();
	const key = await manageKeyOf(service);
	let [acts, refused] = [0, 0];
	for (const [noun, of] of Object.entries(managedActsOf(capabilities)))
		for (const verb of of.verbs) {
			const { takes } = await loadAct(of, noun, verb);
			acts++;
			for (const text of [
				'x',
				'((',
				'💥\u0000',
				'-1',
				'2026-02-30',
				'visitor.nothing > 1',
				'y'.repeat(5000),
			]) {
				const given = Object.entries<Field>(takes).map(([name, field]) => [
					name,
					isYes(field) ? true : takesMany(field) ? [text] : (field.choices?.[0] ?? text),
				]);
				const answer = await ask(service, key, `${noun}/${verb}`, {
					aid: service.aid,
					...Object.fromEntries(given),
				});
				assert.ok(answer.status < 500, `${noun} ${verb} of ${text.slice(0, 20)}: ${await answer.text()}`);
				if (answer.status === 400) refused++;
			}
		}
	// Some take nothing, or whatever is a name.
	assert.ok(refused > 2 * acts, `only ${refused} were refused of ${acts} acts`);
});

test('a wrong rule of a segment is told with its place, and is in the audit log as refused', async () => {
	const service = await openAccount();
	const key = await manageKeyOf(service);
	const rule = 'visitor.visits >= 3 &&\n\tvisitor.nothing > 1';
	const segment = { aid: service.aid, segment: 's', name: 'S', rule };
	const answer = await ask(service, key, 'segment/create', segment);
	assert.equal(answer.status, 400);
	assert.match(await answer.text(), /nothing.*line 2, column/);
	const [entry] = await service.store.control.audit.list({ aid: service.aid, limit: 1 });
	assert.equal(entry?.action, 'refused: segment create');
});
