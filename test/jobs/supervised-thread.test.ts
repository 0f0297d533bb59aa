import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { startFolding } from '../../src/jobs/start-folding.ts';
import { startRetention } from '../../src/jobs/start-retention.ts';
import { startTrainingThread } from '../../src/jobs/training-worker.ts';
import { openStore } from '../../src/store/open.ts';
import { eventually } from '../eventually.ts';
import { engines } from '../store/engines.ts';
import { sessionOn } from '../store/postgres/service.ts';
import { freshPostgresDatabase } from '../store/postgres-server.ts';
import { collectLog } from '../support.ts';

/** Takes a store's control database away. @returns what gives it back */
async function takeAway(t: TestContext, address: string): Promise<() => Promise<void>> {
	if (address.startsWith('sqlite:')) {
		const path = join(address.slice('sqlite:'.length), 'control.sqlite');
		renameSync(path, `${path}.away`);
		return async () => renameSync(`${path}.away`, path);
	}
	const name = new URL(address).pathname.slice(1);
	const session = await sessionOn(t, await freshPostgresDatabase());
	await session.query(`ALTER DATABASE ${name} RENAME TO ${name}_away`);
	return async () => {
		await session.query(`ALTER DATABASE ${name}_away RENAME TO ${name}`);
	};
}

for (const engine of engines)
	test(`threads that die are restarted and logged: ${engine.name}`, async (t) => {
		const address = await engine.freshAddress(t);
		const store = await openStore(address);
		// Whoever works on this account says so, since its database is missing.
		await store.control.createAccount({ aid: 'c-a-lost', client: 'x', origins: [] }, async () => {});
		await store.close();
		const giveBack = await takeAway(t, address);
		const logged: string[] = [];
		const log = collectLog(logged);
		const stops = [
			startRetention({ database: address, keepHitsDays: 1 }, log),
			startTrainingThread({ database: address, trainEvery: 60_000 }, log),
			startFolding({ database: address }, log).stop,
		];
		t.after(() => Promise.all(stops.map((stop) => stop())));
		const said = (text: string) => logged.some((line) => line.includes(text));
		const names = ['retention', 'training', 'folding'];
		for (const name of names)
			await eventually(`${name} has died`, () => said(`"msg":"${name} failed, starting again"`));
		await giveBack();
		for (const name of ['retention', 'training'])
			await eventually(`${name} goes on`, () => said(`"msg":"${name} failed"`), 4000);
	});
