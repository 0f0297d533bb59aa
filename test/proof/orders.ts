/**
 * `npm run proof:orders [ORDERS [EVENTS [SEED]]]` uploads the same events, which tell when they happened, in so many orders and
 * splits, each to an account of its own on each engine, and compares profiles and every report with those of the first.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore } from '../../src/assembly/open-store.ts';
import type { UploadedEvent } from '../../src/core/domain/subscription-event.ts';
import { dayMs } from '../../src/core/durations.ts';
import { foldAll } from '../../src/core/store/fold-all.ts';
import type { ServingWriter } from '../../src/core/store/serving.ts';
import type { OpenStore } from '../../src/core/store/store.ts';
import { report } from '../capabilities/reports/filled.ts';
import { addAccount, subscriptionEvent, upload } from '../core/store/engines.ts';
import { ignoreEvents } from '../core/store/ignore-events.ts';
import { hit } from '../core/store/made-hits.ts';
import { createDatabase, startPostgres } from '../core/store/postgres/server.ts';
import { Chance } from './chance.ts';

const [orders = 1000, events = 500, seed = 1] = process.argv.slice(2).map(Number);
const endMs = Date.now();
const startMs = endMs - 390 * dayMs;
const kinds = [
	'activity',
	'attribution',
	'paths',
	'trials',
	'movement',
	'retention',
	'renewals',
	'ltv',
	'coverage',
	'subscriptions',
];

/** Sales, renewals, refunds and changes of price of subscriptions, several of one moment, some of two customers. */
function madeUp(chance: Chance): UploadedEvent[] {
	const made: UploadedEvent[] = [];
	for (let subscription = 0; made.length < events; subscription++) {
		const [price, every] = [chance.below(3) * 500 + 499, [7, 30, 365][chance.below(3)] as number];
		const first = chance.below(380);
		for (let day = first; day < 389 && made.length < events; day += every) {
			// Whole days, so that several are of one moment.
			const common = {
				subid: `S${subscription}`,
				cid: chance.is(0.8) ? `C${chance.is(0.1) ? subscription + 1 : subscription}` : null,
				evt: chance.is(0.1) ? 'audio' : 'newsletter',
				atMs: startMs + day * dayMs,
			};
			const tid = `T${subscription}-${day}`;
			made.push({ ...subscriptionEvent({ ...common, tid, rvn: price }), atMs: common.atMs });
			if (chance.is(0.15))
				made.push({
					...subscriptionEvent({ ...common, tid: `${tid}-refund`, rvn: -price }),
					atMs: common.atMs,
				});
			if (chance.is(0.1)) break;
		}
	}
	return made.slice(0, events);
}

function shuffled<Item>(items: readonly Item[], chance: Chance): Item[] {
	const all = [...items];
	for (let last = all.length - 1; last > 0; last--) {
		const other = chance.below(last + 1);
		[all[last], all[other]] = [all[other] as Item, all[last] as Item];
	}
	return all;
}

const vidOf = (visitor: number) => visitor.toString(16).padStart(32, '0');

/** Everything that is told of these events, after they have arrived in this order. */
async function told(
	{ store, writer }: { readonly store: OpenStore; readonly writer: ServingWriter },
	name: string,
	order: readonly UploadedEvent[],
	chance: Chance,
): Promise<string> {
	const id = await addAccount(store, name);
	const visitors = 40;
	for (let visitor = 0; visitor < visitors; visitor++) {
		const ids = { freshVid: vidOf(visitor), freshSid: vidOf(visitor + 1000) };
		await writer.storeHit(id, hit({ ...ids, atMs: startMs - dayMs + visitor }, { cid: `C${visitor}` }));
	}
	for (let from = 0; from < order.length; ) {
		const size = 1 + chance.below(chance.is(0.5) ? 5 : 100);
		await upload(writer, id, order.slice(from, from + size), { atMs: endMs + from });
		from += size;
	}
	await foldAll(store, id);
	const reader = store.startReading();
	const profiles = await Promise.all(
		Array.from({ length: visitors }, (_, visitor) => reader.visitor(id, vidOf(visitor))),
	);
	await reader.close();
	const reports: unknown[] = [];
	for (const kind of kinds) reports.push(await report(store, id, kind, { asOf: endMs }));
	return JSON.stringify({ profiles, reports }, null, 1);
}

async function compare(engine: string, address: string): Promise<void> {
	const startedAtMs = performance.now();
	const store = await openStore(address);
	const writer = await store.startWriting(ignoreEvents);
	const chance = new Chance(seed);
	const history = madeUp(chance);
	const inOrder = history.toSorted((a, b) => (a.atMs ?? 0) - (b.atMs ?? 0));
	const expected = await told({ store, writer }, 'c-a-proof-0', inOrder, chance);
	let different = 0;
	for (let number = 1; number <= orders; number++) {
		const found = await told({ store, writer }, `c-a-proof-${number}`, shuffled(history, chance), chance);
		if (found === expected) continue;
		different++;
		try {
			assert.equal(found, expected);
		} catch (error) {
			if (different <= 3)
				console.log(`${engine}, order ${number}: ${(error as Error).message.slice(0, 3000)}`);
		}
	}
	await writer.stop();
	await store.close();
	const seconds = Math.round((performance.now() - startedAtMs) / 1000);
	console.log(
		`${engine}: ${orders} orders of ${history.length} events, ${different} different, ${seconds} s (seed ${seed})`,
	);
	if (different > 0) process.exitCode = 1;
}

const folder = mkdtempSync(join(tmpdir(), 'caskade-orders-'));
await compare('SQLite', `sqlite:${join(folder, 'data')}`);
rmSync(folder, { recursive: true });
const postgres = await startPostgres();
await compare('PostgreSQL', await createDatabase(postgres));
await postgres.stop();
process.exit();
