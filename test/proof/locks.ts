/**
 * `npm run proof:locks [SECONDS] [SEED]` stores hits, uploads and imports, erases, folds, prunes and rebuilds concurrently on
 * PostgreSQL, as two processes would, over so few visitors, customers and subscriptions that all of them meet all the time.
 * Prints the deadlocks that the server counted, and compares all profiles with their logs. `test/core/store/postgres/locks.test.ts`
 * is the short form.
 */

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { openStore } from '../../src/assembly/open-store.ts';
import { storeHistory } from '../../src/capabilities/history/store/past-history.ts';
import { prune } from '../../src/capabilities/upkeep/store/pruning.ts';
import { eraseOne } from '../../src/capabilities/visitors/store/erasure.ts';
import { rebuildAll } from '../../src/capabilities/visitors/store/rebuilding.ts';
import { derivedVisitor } from '../../src/core/domain/derived-vid.ts';
import { foldAll, foldOnce } from '../../src/core/store/fold-all.ts';
import type { ServingWriter } from '../../src/core/store/serving.ts';
import type { OpenStore } from '../../src/core/store/store.ts';
import { seededRandom } from '../../src/kit/random.ts';
import { addAccount, receivedAtMs, upload } from '../core/store/engines.ts';
import { body, hit } from '../core/store/made-hits.ts';
import { createDatabase, startPostgres } from '../core/store/postgres/server.ts';
import { deadlocksOf } from './mixed.ts';

const concurrency = 24;
const cids = ['C-1', 'C-2', 'C-3', 'C-4'];
const subids = ['S-1', 'S-2', 'S-3', 'S-4', 'S-5', 'S-6'];
/** Browsers that have no `vid` yet; of each, several hits are under way at once. */
const seeds = ['1', '2', '3', '4', '5', '6'].map((digit) => digit.repeat(32));
const importedVids = ['a', 'b', 'c', 'd'].map((letter) => letter.repeat(32));
/** Of what is known of so many last sales and visitors, something is shown again. */
const recent = 30;
/** How often each happens. */
const weights = { hit: 40, upload: 30, import: 6, erase: 2, fold: 8, prune: 1, rebuild: 0.3 };
type Action = keyof typeof weights;

export interface TangleOptions {
	readonly address: string;
	readonly seed: number;
	/** The end of the load. */
	readonly isOver: (actions: number) => boolean;
}

/** @returns how often each happened, and the deadlocks. @throws if anything failed, or a profile differs from its log */
export async function tangle({ address, seed, isOver }: TangleOptions) {
	const random = seededRandom(seed);
	const below = (max: number) => Math.floor(random() * max);
	const pick = <Item>(items: readonly Item[]) => items[below(items.length)] as Item;
	const maybe = <Item>(share: number, item: () => Item) => (random() < share ? item() : null);
	const stores = [await openStore(address), await openStore(address)];
	const events = { onCommit() {}, onError() {}, onNotice() {}, onWaiting() {}, onDeath() {} };
	const writers = await Promise.all(stores.map((store) => store.startWriting(events)));
	const accounts = [await addAccount(stores[0] as OpenStore), await addAccount(stores[0] as OpenStore)];
	const store = () => pick(stores);
	const writer = () => pick<ServingWriter>(writers);
	const secrets = new Map<number, string>();
	for (const id of accounts) secrets.set(id, await store().control.visitorSecret(id));
	const seen = new Map(accounts.map((id) => [id, [] as { vid: string; sid: string }[]]));
	const tids: string[] = [];
	const freshTid = () => {
		tids.push(`T-${tids.length}`);
		return tids.at(-1) as string;
	};
	const shownTid = () => (random() < 0.5 && tids.length > 0 ? pick(tids.slice(-recent)) : freshTid());
	const shown = () => ({
		cid: maybe(0.4, () => pick(cids)),
		events: random() < 0.4 ? [{ name: 'order', tid: shownTid() }] : [],
		url: `https://shop.example/${randomBytes(4).toString('hex')}`,
	});
	const sale = () => ({
		tid: freshTid(),
		subid: pick(subids),
		cid: maybe(0.4, () => pick(cids)),
		evt: 'newsletter',
		rvn: below(5) - 1,
	});
	const several = <Item>(max: number, item: () => Item) => Array.from({ length: 1 + below(max) }, item);
	const moment = () => receivedAtMs + below(600) * 1000;
	const actions: Record<Action, (accountId: number) => Promise<unknown>> = {
		async hit(accountId) {
			const visitors = seen.get(accountId) ?? [];
			const who = visitors.length > 0 && random() < 0.7 ? pick(visitors.slice(-recent)) : null;
			const arriving = {
				vid: who?.vid ?? null,
				sid: maybe(0.7, () => who?.sid) ?? null,
				atMs: moment(),
				...(random() < 0.4 && {
					derived: derivedVisitor(secrets.get(accountId) as string, 'seed', pick(seeds)),
				}),
			};
			visitors.push(
				await writer().storeHit(
					accountId,
					hit({ visitorSecret: secrets.get(accountId), ...arriving }, shown()),
				),
			);
		},
		upload: (accountId) => upload(writer(), accountId, several(6, sale), { atMs: moment() }),
		import(accountId) {
			const hits = several(6, () => {
				const vid = pick(importedVids);
				// One customer each: who has several is taken apart by a rebuild, which would hide a join that was missed.
				const cid = maybe(0.4, () => cids[importedVids.indexOf(vid) % cids.length] as string);
				return { vid, sid: null, atMs: moment(), body: body({ ...shown(), cid }) };
			});
			const sales = several(3, () => ({ ...sale(), receivedAtMs: moment() }));
			return store().transact(accountId, () => storeHistory(hits, sales));
		},
		async erase(accountId) {
			const someone = pick((seen.get(accountId) ?? []).slice(-recent))?.vid;
			const vid = someone === undefined || random() < 0.2 ? pick(importedVids) : someone;
			await eraseOne(store(), accountId, vid);
		},
		async fold(accountId) {
			const folding = store();
			let after: string | undefined = '';
			for (let piece = 0; piece < 10 && after !== undefined; piece++)
				after = await foldOnce(folding, accountId, after);
		},
		prune: (accountId) =>
			store().transact(accountId, () => prune(receivedAtMs + below(100) * 1000, random() < 0.5)),
		rebuild: (accountId) => rebuildAll(store(), accountId),
	};
	const names = Object.keys(weights) as Action[];
	const all = names.reduce((sum, name) => sum + weights[name], 0);
	const draw = () => {
		let left = random() * all;
		return (
			names.find((name) => {
				left -= weights[name];
				return left < 0;
			}) ?? 'hit'
		);
	};
	const done: Partial<Record<Action, number>> = {};
	let begun = 0;
	const act = async () => {
		while (!isOver(begun++)) {
			const name = draw();
			await actions[name](pick(accounts));
			done[name] = (done[name] ?? 0) + 1;
		}
	};
	try {
		await Promise.all(Array.from({ length: concurrency }, act));
		for (const accountId of accounts) {
			await foldAll(store(), accountId);
			const { apart, changed } = await rebuildAll(store(), accountId);
			assert.deepEqual({ apart, changed }, { apart: 0, changed: 0 }, `seed ${seed}`);
		}
	} finally {
		for (const one of writers) await one.stop();
		for (const one of stores) await one.close();
	}
	return { done, deadlocks: await deadlocksOf(address) };
}

if (import.meta.main) {
	const endMs = performance.now() + 1000 * Number(process.argv[2] ?? 60);
	const seed = Number(process.argv[3] ?? Date.now() % 1e6);
	const server = await startPostgres();
	try {
		const address = await createDatabase(server);
		const { done, deadlocks } = await tangle({ address, seed, isOver: () => performance.now() > endMs });
		console.log(
			`seed ${seed}: ${JSON.stringify(done)}; ${deadlocks} deadlocks; all profiles as their logs say`,
		);
	} finally {
		await server.stop();
	}
}
