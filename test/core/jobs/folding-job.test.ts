import assert from 'node:assert/strict';
import { test } from 'node:test';
import { waitToBeFolded } from '../../../src/core/store/account/profiles/refold.ts';
import type { Steps } from '../../../src/core/store/steps.ts';
import type { OpenStore } from '../../../src/core/store/store.ts';
import { eventually } from '../../eventually.ts';
import { ServeProcess } from '../../process.ts';
import { takesLong } from '../../quick.ts';
import { addClient, browserUserAgent, event } from '../../support.ts';
import { assertFolded } from '../store/contract/folding.ts';
import { enginesAboveContract, openFor } from '../store/engines.ts';
import { addLongLog, longLogVid } from '../store/long-log.ts';
import { rowsIn } from '../store/rows.ts';

function* run(queries: ReturnType<typeof waitToBeFolded>): Steps<void> {
	yield queries;
}

/** How far the visitor has been folded again; undefined where nothing waits. */
async function foldedTo(store: OpenStore, accountId: number): Promise<number | undefined> {
	const rows = await rowsIn(store, accountId, 'visitor');
	const waiting = rows.find(({ folded_to }) => folded_to !== null);
	return waiting && Number(waiting.folded_to);
}

for (const engine of enginesAboveContract) {
	test(`forty concurrent hits of a visitor with 6,000 hits delay nobody, on ${engine.name}`, {
		skip: takesLong,
	}, async (t) => {
		const address = await engine.installedAddress(t);
		const store = await openFor(t, address);
		const { aid } = await addClient(store);
		const other = await addClient(store, { client: 'globex' });
		const { id } = await store.control.account(aid);
		// The clock has been set back: every hit lies before the last.
		await addLongLog(store, id, 6_000, Date.now() + 600_000);
		await using server = await ServeProcess.start(['--database', address]);
		const fire = async () => {
			const answer = await fetch(`${server.url}/hit`, {
				method: 'POST',
				headers: { 'content-type': 'application/json', 'user-agent': browserUserAgent },
				body: JSON.stringify({ aid, vid: longLogVid, events: [{ name: 'look' }], cid: 'C-1' }),
			});
			return answer.status;
		};
		const upload = async () =>
			(await server.upload(other.key, { aid: other.aid, data: [event({ cid: 'C-1' })] })).status;
		const answers = await Promise.all(Array.from({ length: 40 }, () => [fire(), upload()]).flat());
		assert.deepEqual(
			Object.entries(Object.groupBy(answers, String)).map(([status, all]) => [status, all?.length]),
			[
				['200', 40],
				['201', 40],
			],
		);
		const reader = store.startReading();
		t.after(() => reader.close());
		await eventually('all hits are in the profile', async () => {
			return (await reader.visitor(id, longLogVid))?.hits === 6_040;
		});
	});

	test(`after a server is killed while folding, the next one continues, on ${engine.name}`, {
		skip: takesLong,
	}, async (t) => {
		const address = await engine.installedAddress(t);
		const store = await openFor(t, address);
		const { aid } = await addClient(store);
		const { id } = await store.control.account(aid);
		await addLongLog(store, id, 3000, Date.now());
		await store.transact(id, () => run([...waitToBeFolded([longLogVid], [])]));
		const before = await foldedTo(store, id);
		await using first = await ServeProcess.start(['--database', address]);
		await eventually('it has begun', async () => (await foldedTo(store, id)) !== before);
		await first.kill('SIGKILL');
		await using _second = await ServeProcess.start(['--database', address]);
		await eventually('it is done', async () => (await store.waiting(id)) === 0);
		await assertFolded(store, id);
	});
}
