import { test } from 'node:test';
import { noFaultyDisk } from '../faulty-disk.ts';
import { temporaryFolder } from '../support.ts';
import { failingDisk } from './failing-disk.ts';

test('on a disk that fails at random, and through kills and power cuts, every answer stays true', {
	skip: noFaultyDisk(),
}, async (t) => {
	const { counts } = await failingDisk({ folder: temporaryFolder(t), rounds: 2, uploads: 6, seed: 4 });
	t.diagnostic(JSON.stringify(counts));
});
