import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { engines } from '../core/store/engines.ts';
import { fullSizes } from './full-sizes.ts';

for (const { name, installedAddress } of engines)
	suite(`one visitor, one cid and one subid that grow large, on ${name}`, () => {
		test('others are served meanwhile, and every event gets its owner', async (t) => {
			const phases: string[] = [];
			await fullSizes({
				address: await installedAddress(t),
				hits: 600,
				events: 2000,
				onPhase: ({ name, waitsMs }) => {
					phases.push(name);
					assert.ok(waitsMs.values().every((waits) => waits.length > 0));
				},
			});
			assert.equal(phases.length, 5);
		});
	});
