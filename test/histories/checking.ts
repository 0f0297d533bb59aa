import assert from 'node:assert/strict';
import { findSharedKeys } from '../../src/capabilities/visitors/store/find-shared-keys.ts';
import { rebuildAll } from '../../src/capabilities/visitors/store/rebuilding.ts';
import { maxSharing } from '../../src/core/domain/shared-key.ts';
import { foldAll } from '../../src/core/store/fold-all.ts';
import { type Log, readStored } from '../core/store/stored-log.ts';
import { alike } from './alike.ts';
import { checkApart, sharedIn } from './apart.ts';
import { checkReports, questionsAbout } from './checking-reports.ts';
import { derivedFrom } from './model.ts';
import { maxMovedMs, type Playing } from './playing.ts';
import type { Service } from './service.ts';

/** What was compared. */
export interface Compared {
	hits: number;
	events: number;
	profiles: number;
	figures: number;
}

/** Compares what is stored with what was sent, and everything that is derived with the model and with a rebuild. */
export async function check({ store, accountId }: Service, playing: Playing): Promise<Compared> {
	await findSharedKeys(store, accountId);
	await foldAll(store, accountId);
	assert.equal(await store.waiting(accountId), 0);
	const { log, derived } = await readStored(store, accountId);
	checkLog(log, playing);
	checkShared(log, playing);
	const expected = derivedFrom(log);
	for (const part of ['owners', 'links', 'visitors', 'visits', 'touches'] as const)
		alike(derived[part], expected[part], part);
	const shared = sharedIn(log);
	assert.equal((await rebuildAll(store, accountId)).apart, shared.size);
	const rebuilt = await readStored(store, accountId);
	assert.deepEqual(rebuilt.log.shared, log.shared, 'a rebuild finds no other shared keys');
	checkApart(log, rebuilt.log);
	const expectedNow = shared.size > 0 ? derivedFrom(rebuilt.log) : derived;
	for (const part of ['owners', 'links', 'visitors', 'visits', 'touches'] as const)
		alike(rebuilt.derived[part], expectedNow[part], `${part} after a rebuild`);
	if (shared.size > 0) {
		await rebuildAll(store, accountId);
		const again = await readStored(store, accountId);
		assert.deepEqual(again, rebuilt, 'another rebuild changes nothing');
	}
	return {
		hits: log.hits.length,
		events: log.events.length,
		profiles: derived.visitors.size + derived.visits.size,
		figures: await checkReports(store, accountId, {
			log: rebuilt.log,
			questions: questionsAbout(playing.nowMs),
		}),
	};
}

/** Checks that keys are nobody's if more than so many have shown them, and only then. */
function checkShared(log: Log, { crowds, hits }: Playing): void {
	const shown = [
		...log.kept.links,
		...log.hits.flatMap(({ vid, body: { cid, events } }) => [
			...(cid === null ? [] : [{ vid, key: `c:${cid}` }]),
			...events.flatMap(({ tid }) => (tid === undefined ? [] : [{ vid, key: `t:${tid}` }])),
		]),
	];
	for (const [key, own] of Map.groupBy(shown, (one) => one.key)) {
		const visitors = new Set(own.map(({ vid }) => vid)).size;
		if (visitors > maxSharing) assert.ok(log.shared.has(key), `${visitors} visitors share ${key}`);
	}
	for (const key of log.shared) {
		const others = new Set(
			hits
				.values()
				.filter(({ keys }) => keys.includes(key))
				.map(({ stored }) => stored?.vid),
		);
		assert.ok((crowds.get(key) ?? 0) + others.size > maxSharing, `${key} is shared`);
	}
}

function checkLog({ hits, events }: Log, { hits: sent, events: sentEvents }: Playing): void {
	const expected = [...sentEvents.values()].map((event, place) => ({
		...event,
		atMs: event.atMs ?? events[place]?.atMs,
	}));
	assert.deepEqual(events, expected, 'the events that were sent are stored, in this order');
	const stored = new Map(hits.map((hit) => [String(hit.body.title), hit]));
	assert.equal(stored.size, hits.length, 'no hit is stored twice');
	for (const [title, { stored: answered, atMs, isStored }] of sent) {
		const hit = stored.get(title);
		stored.delete(title);
		if (isStored !== undefined) assert.equal(hit !== undefined, isStored, `${title} is stored`);
		if (!hit) continue;
		if (answered?.vid) assert.equal(hit.vid, answered.vid, `${title} has its visitor`);
		if (answered?.sid) assert.equal(hit.sid, answered.sid, `${title} has its visit`);
		assert.ok(hit.atMs >= atMs && hit.atMs <= atMs + maxMovedMs, `${title} has its time`);
	}
	assert.deepEqual([...stored.keys()], [], 'no hit is stored that was not sent');
}
