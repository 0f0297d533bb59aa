import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { engines } from '../core/store/engines.ts';
import { deadlocksOf, mixedLoad } from './mixed.ts';

for (const { name, isFolder, installedAddress } of engines)
	suite(`logins, pages, checkouts and the uploads of their sales at once, on ${name}`, () => {
		test('nothing fails, and everything is stored as acknowledged', async (t) => {
			const address = await installedAddress(t);
			await mixedLoad({ address, workers: 1, visitors: 4, sessions: 6 });
			if (!isFolder) assert.equal(await deadlocksOf(address), 0);
		});

		test('the same with several processes, reads, imports and erasures at the same time', async (t) => {
			const address = await installedAddress(t);
			const workers = isFolder ? 1 : 2;
			const { load } = await mixedLoad({ address, workers, visitors: 12, sessions: 2, withOthers: true });
			assert.ok(load.imports > 0 && load.erasures > 0 && load.reads > 0);
			if (!isFolder) assert.equal(await deadlocksOf(address), 0);
		});
	});
