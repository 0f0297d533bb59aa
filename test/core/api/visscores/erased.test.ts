import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { eraseVisitor } from '../../../../src/capabilities/visitors/store/erasure.ts';
import { issueCask } from '../../../../src/core/access/cask.ts';
import { minuteMs } from '../../../../src/core/durations.ts';
import { eventually } from '../../../eventually.ts';
import { openAccount } from '../../../shared-server.ts';
import { addClient, browserUserAgent, type HitAnswer, serveAt } from '../../../support.ts';
import { openStore } from '../../../whole.ts';
import { type Engine, enginesAboveContract, openFor } from '../../store/engines.ts';

/** A server, and a command with another clock. */
async function start(t: TestContext, engine: Engine, clocks: { server: number; command: number }) {
	const address = await engine.installedAddress(t);
	const { aid } = await addClient(await openFor(t, address));
	const store = await openStore(address, { now: () => Date.now() + clocks.command });
	t.after(() => store.close());
	const now = () => Date.now() + clocks.server;
	const server = await serveAt(address, { now });
	t.after(() => server.stop());
	const { id: accountId } = await store.control.account(aid);
	return {
		store,
		accountId,
		async hit(body: object = {}): Promise<HitAnswer> {
			const answer = await fetch(`${server.url}/hit`, {
				method: 'POST',
				headers: { 'content-type': 'application/json', 'user-agent': browserUserAgent },
				body: JSON.stringify({ aid, url: 'https://www.acme.example/', ...body }),
			});
			assert.equal(answer.status, 200);
			return (await answer.json()) as HitAnswer;
		},
		statusOf: async ({ cask }: HitAnswer) => (await fetch(`${server.url}/visscores?cask=${cask}`)).status,
	};
}

for (const engine of enginesAboveContract) {
	for (const [name, clocks] of [
		['a minute behind', { server: 0, command: -minuteMs }],
		['a minute ahead', { server: 0, command: minuteMs }],
		['an hour behind the server', { server: 60 * minuteMs, command: 0 }],
	] as const)
		test(`on ${engine.name} a clock that is ${name} keeps no cask of an erased visitor valid`, async (t) => {
			const { store, accountId, hit, statusOf } = await start(t, engine, clocks);
			const [erased, other] = [await hit(), await hit()];
			const again = await hit({ vid: erased.vid, sid: erased.sid });
			assert.equal(again.vid, erased.vid);
			for (const answer of [erased, again, other]) assert.equal(await statusOf(answer), 200);
			await eraseVisitor(store, accountId, erased.vid);
			await eventually('its cask opens nothing', async () => (await statusOf(erased)) === 403);
			assert.equal(await statusOf(again), 403);
			assert.equal(await statusOf(other), 200);
			const fresh = await hit({ vid: erased.vid, sid: erased.sid });
			assert.notEqual(fresh.vid, erased.vid);
			assert.equal(await statusOf(fresh), 200);
		});

	test(`on ${engine.name} a cask of a hit that arrives during the erasure is revoked too`, async (t) => {
		const clocks = { server: 2000, command: 0 };
		const { store, accountId, hit, statusOf } = await start(t, engine, clocks);
		const { vid } = await hit();
		const revoke = store.control.revokeCasks.bind(store.control);
		const meanwhile: HitAnswer[] = [];
		store.control.revokeCasks = async (...of) => {
			await revoke(...of);
			// A hit of another visit, which the first pass has not seen.
			if (meanwhile.length === 0) meanwhile.push(await hit({ vid }));
		};
		await eraseVisitor(store, accountId, vid);
		const [answer] = meanwhile as [HitAnswer];
		assert.equal(answer.vid, vid);
		await eventually('its cask opens nothing', async () => (await statusOf(answer)) === 403);
	});
}

test('of an erased visitor a later cask says nothing', async () => {
	const { url, hit, store, directory, aid } = await openAccount();
	const { vid } = await hit();
	const { id } = await store.control.account(aid);
	await eraseVisitor(store, id, vid);
	await directory.refresh();
	// Casks are dated in whole seconds, and one as old as the erasure is revoked.
	const of = { aid, scope: 'vid', subject: vid } as const;
	const { cask } = issueCask(directory.signingKeys, of, Date.now() + 2000);
	const answer = await fetch(`${url}/visscores?cask=${cask}`);
	assert.equal(answer.status, 200);
	assert.deepEqual(((await answer.json()) as { scores: unknown }).scores, []);
});
