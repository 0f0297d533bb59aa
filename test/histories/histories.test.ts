import { suite, test } from 'node:test';
import fc from 'fast-check';
import { examples } from '../quick.ts';
import { enginesAboveContract, openAccountOn } from '../store/engines.ts';
import { check } from './checking.ts';
import { histories } from './history.ts';
import { Playing } from './playing.ts';
import { StoredService } from './stored-service.ts';

/** `npm run proof:histories` plays more of them, and kills servers meanwhile. */
for (const engine of enginesAboveContract)
	suite(`random histories on ${engine.name}`, () => {
		test('owners, profiles and reports are those of a model that is made anew from the log', async () => {
			await fc.assert(
				fc.asyncProperty(histories, async (history) => {
					const service = new StoredService(await openAccountOn(engine));
					const playing = new Playing(service);
					await playing.play(history);
					await check(service, playing);
				}),
				// A failure is made shorter for so long.
				{ numRuns: examples(engine.isFolder ? 4 : 2), interruptAfterTimeLimit: 30_000 },
			);
		});
	});
