import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { engines, openFor, startWritingFor } from '../core/store/engines.ts';
import { checkExported } from './reports.ts';

for (const engine of engines)
	suite(`every report of random histories, on ${engine.name}`, () => {
		test('says what is added up from the export', async (t) => {
			const address = await engine.installedAddress(t);
			const store = await openFor(t, address);
			const writer = await startWritingFor(t, store);
			const isOver = ({ histories }: { readonly histories: number }) => histories === 4;
			const { figures } = await checkExported({ address, store, writer }, { seed: 1, isOver });
			assert.ok(figures > 1000);
		});
	});
