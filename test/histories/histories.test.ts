import { suite, test } from 'node:test';
import fc from 'fast-check';
import { dayMs, hourMs } from '../../src/core/durations.ts';
import { enginesAboveContract, openAccountOn } from '../core/store/engines.ts';
import { quick } from '../quick.ts';
import { check } from './checking.ts';
import { type Happening, type History, histories } from './history.ts';
import { Playing } from './playing.ts';
import { StoredService } from './stored-service.ts';

const somebody = { who: 0, from: 0, tid: 0, cid: null };
const sale: Happening = {
	does: 'import',
	afterMs: 0,
	visitors: [],
	sales: [{ tid: 0, subid: 0, cid: null, rvn: 499, behindMs: dayMs }],
	isRepeated: false,
};

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
				// A failure is made shorter for so long. Even the first history may take half a minute on a busy machine.
				{ numRuns: quick ? 1 : engine.isFolder ? 4 : 2, interruptAfterTimeLimit: 300_000 },
			);
		});

		async function checkFrom(beginMs: number, history: History): Promise<void> {
			const service = new StoredService(await openAccountOn(engine), beginMs);
			const playing = new Playing(service);
			await playing.play(history);
			await check(service, playing);
		}

		test('reports are compared once the clock is past hits that are dated ahead of it', () => {
			const aheadMs = 1500;
			return checkFrom(Date.now() + aheadMs, [
				{
					...somebody,
					does: 'browse',
					afterMs: 0,
					hits: 1,
					everyMs: 0,
					arriving: 'one by one',
					behindMs: 0,
					visit: 'own',
					isNew: true,
					hasSeed: false,
				},
				sale,
			]);
		});

		test('nothing is imported from the future', () => {
			const visitor = { ...somebody, hits: 4, everyMs: hourMs, behindMs: 0, visit: null };
			return checkFrom(Date.now(), [{ ...sale, visitors: [visitor] }]);
		});
	});
