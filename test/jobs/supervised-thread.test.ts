import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { startBackground } from '../../src/jobs/background.ts';
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
	test(`a thread that dies is restarted and logged: ${engine.name}`, async (t) => {
		const address = await engine.freshAddress(t);
		const store = await openStore(address);
		// Whoever works on this account says so, since its database is missing.
		await store.control.createAccount({ aid: 'c-a-lost', client: 'x', origins: [] }, async () => {});
		await store.close();
		const giveBack = await takeAway(t, address);
		const logged: string[] = [];
		const log = collectLog(logged);
		const work = { followsLog: true, keepsScores: true, trainEveryMs: 60_000, keepHitsDays: 1 };
		const background = startBackground({ database: address }, work, log);
		t.after(() => background.stop());
		const said = (text: string) => logged.some((line) => line.includes(text));
		await eventually('it has died', () => said('"msg":"background work failed, starting again"'));
		await giveBack();
		for (const name of ['retention', 'training'])
			await eventually(`${name} goes on`, () => said(`"msg":"${name} failed"`), 4000);
	});
