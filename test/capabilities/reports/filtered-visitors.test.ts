import assert from 'node:assert/strict';
import { test } from 'node:test';
import { enginesAboveContract, openFor } from '../../core/store/engines.ts';
import { fill, report, sale, visit } from './filled.ts';

const entries = [
	visit(1, 0, null, 'email'),
	visit(1, 1, 'T-1', 'direct'),
	sale('T-1', 'T-1', 1, 499),
	visit(2, 2, null, 'email'),
	visit(3, 0, null, 'search'),
	visit(3, 1, 'T-3', 'direct'),
	sale('T-3', 'T-3', 1, 499),
	visit(4, 3, null, 'search'),
];

for (const engine of enginesAboveContract) {
	test(`with a channel, rates and lost visitors are of those who came by it, on ${engine.name}`, async (t) => {
		const store = await openFor(t, await engine.installedAddress(t));
		const id = await fill(store, 'c-a-acme-uk', entries);
		const made = await report(store, id, 'attribution', {
			channel: 'email',
			by: ['channel'],
			model: ['last'],
		});
		assert.deepEqual(
			made.rows.map(({ channel, visitors, models }) => [
				channel,
				visitors,
				(models as { last: { subscriptions: number } }).last.subscriptions,
			]),
			[
				['direct', 1, 1],
				['email', 2, 0],
			],
		);
		const { steps } = (await report(store, id, 'paths', {
			channel: 'email',
			by: ['channel'],
		})) as unknown as {
			steps: readonly { readonly subscriptions: number; readonly lost: number; readonly step: number }[];
		};
		const first = steps.filter(({ step }) => step === 1);
		assert.deepEqual(
			[
				first.reduce((sum, { subscriptions }) => sum + subscriptions, 0),
				first.reduce((sum, { lost }) => sum + lost, 0),
			],
			[1, 1],
		);
	});
}
