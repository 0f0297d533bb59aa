import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
	cutsOf,
	outcomesOf,
	type Snapshot,
	type SnapshotPlan,
	visitorSnapshots,
	visitSnapshots,
} from '../../../../src/capabilities/training/rows/snapshots.ts';
import { compareEntries, type HitEntry, profileOf } from '../../../../src/core/domain/profile.ts';
import { dayMs } from '../../../../src/core/durations.ts';
import { seededRandom } from '../../../../src/kit/random.ts';
import type { VisitorHistory } from '../../../../src/kit/reading/histories.ts';
import type { JoinedEvent } from '../../../../src/kit/reading/joined-events.ts';
import { anyLog, hit, startMs, subscription } from '../../../core/domain/log.ts';

const horizonMs = 2 * dayMs;
const goals = [['*'], ['visit'], ['pricing-seen', 'membership']].map((evts) => ({
	evts,
	counts: 'any' as const,
}));

function planAt(asOfMs: number, cutShare = 0.5): SnapshotPlan {
	return {
		asOfMs,
		horizonMs,
		goals,
		cancellationEvt: null,
		cutShare,
		hitShare: 0.7,
		cutsMs: cutsOf(startMs, asOfMs - horizonMs, 8),
	};
}

function history(hits: readonly HitEntry[], events: readonly JoinedEvent[] = []): VisitorHistory {
	return { vid: 'v', hits: [...hits].sort(compareEntries), events };
}

/** A history up to a moment, as the store returns it. */
const anyHistory = fc.tuple(anyLog, fc.array(fc.nat({ max: 3 * dayMs }), { maxLength: 60 })).map(
	([log, delaysMs]): VisitorHistory => ({
		vid: 'v',
		hits: log.filter((entry) => entry.type === 'hit').sort(compareEntries),
		events: log
			.filter((entry) => entry.type === 'subscription')
			.map((entry, index) => ({
				entry,
				knownFromMs: entry.atMs + (delaysMs[index] ?? 0),
				knownUntilMs: Number.POSITIVE_INFINITY,
			})),
	}),
);

const takers = [visitorSnapshots, visitSnapshots];

test('what happens after a moment is not in its profile; what happens within the horizon is in its labels', () => {
	fc.assert(
		fc.property(anyHistory, fc.nat({ max: 16 }), fc.integer(), (log, days, seed) => {
			const plan = planAt(startMs + days * dayMs);
			for (const { atMs, profile, labels } of visitorSnapshots(log, plan, seededRandom(seed))) {
				const known = log.events.filter(({ knownFromMs }) => knownFromMs <= atMs);
				const hits = log.hits.filter((one) => one.atMs <= atMs);
				assert.deepEqual(profile, profileOf([...hits, ...known.map(({ entry }) => entry)]));
				const within = (ms: number) => ms > atMs && ms <= atMs + horizonMs;
				const evts = log.events.filter(({ entry }) => within(entry.atMs)).map(({ entry }) => entry.evt);
				const later = log.hits.filter((one) => within(one.atMs));
				const sid = hits.at(-1)?.sid;
				const names = [...evts, ...later.flatMap(({ events }) => events)];
				assert.deepEqual(labels, [
					evts.length > 0 ? 1 : 0,
					later.some((one) => one.sid !== sid) ? 1 : 0,
					names.some((name) => ['pricing-seen', 'membership'].includes(name)) ? 1 : 0,
				]);
			}
		}),
	);
});

test('every moment is a horizon before the end, and after a hit', () => {
	fc.assert(
		fc.property(
			anyHistory,
			fc.nat({ max: 16 }),
			fc.nat({ max: 9 }),
			fc.integer(),
			(log, days, most, seed) => {
				const asOfMs = startMs + days * dayMs;
				const first = Math.min(...log.hits.map(({ atMs }) => atMs));
				for (const take of takers) {
					const taken = take(log, planAt(asOfMs, most / 9), seededRandom(seed));
					assert.ok(taken.length <= 8 + 32);
					for (const { atMs } of taken) assert.ok(atMs >= first && atMs + horizonMs <= asOfMs);
				}
			},
		),
	);
});

test("a visit's snapshot contains only that visit, as of one of its hits", () => {
	fc.assert(
		fc.property(anyHistory, fc.integer(), (log, seed) => {
			for (const { atMs, profile } of visitSnapshots(log, planAt(startMs + 16 * dayMs), seededRandom(seed))) {
				const { sid } = profile.visit ?? {};
				const hits = log.hits.filter((one) => one.sid === sid && one.atMs <= atMs);
				assert.equal(hits.at(-1)?.atMs, atMs);
				assert.deepEqual(profile, profileOf(hits));
			}
		}),
	);
});

test('an upload joined by a later link is unknown before it, but counts as reaching the goal', () => {
	const uploadedMs = startMs + dayMs;
	const event = { entry: subscription(uploadedMs), knownFromMs: startMs + 3 * dayMs };
	const log = history([hit(startMs)], [{ ...event, knownUntilMs: Number.POSITIVE_INFINITY }]);
	const plan = {
		...planAt(startMs + 10 * dayMs),
		hitShare: 1,
		cutShare: 1,
		cutsMs: [0.5, 2, 4].map((days) => startMs + days * dayMs),
	};
	const at = (days: number): Snapshot | undefined =>
		visitorSnapshots(log, plan, seededRandom(1)).find(({ atMs }) => atMs === startMs + days * dayMs);
	assert.deepEqual([at(0.5)?.labels[0], at(0.5)?.profile.subscriptions], [1, null]);
	assert.deepEqual([at(2)?.labels[0], at(2)?.profile.subscriptions], [0, null]);
	assert.equal(at(4)?.profile.subscriptions?.count, 1);
	const lost = history(
		[hit(startMs)],
		[{ ...event, knownFromMs: uploadedMs, knownUntilMs: startMs + 3 * dayMs }],
	);
	const [before, , after] = visitorSnapshots(lost, plan, seededRandom(1)).slice(1);
	assert.equal(before?.labels[0], 0, 'what went to another visitor is not reached');
	assert.equal(after?.profile.subscriptions, null);
});

test('who has seen the page that thanks for a purchase has bought, although the upload comes later', () => {
	const shownAtMs = startMs + dayMs / 4;
	const entry = subscription(startMs + dayMs);
	const event = { entry, shownAtMs, knownFromMs: entry.atMs, knownUntilMs: Number.POSITIVE_INFINITY };
	const labelsAt = outcomesOf(history([hit(startMs), hit(shownAtMs)], [event]), planAt(startMs + 10 * dayMs));
	const days = [0, 0.2, 0.25, 0.5, 2];
	assert.deepEqual(
		days.map((day) => labelsAt(startMs + day * dayMs)[0]),
		[1, 1, 0, 0, 0],
	);
});

test('hits of the same moment are all known then, and none of them is later', () => {
	const twice = history([hit(startMs), hit(startMs, { sid: 'b'.repeat(32) })]);
	const [snapshot] = visitorSnapshots(
		twice,
		{ ...planAt(startMs + 9 * dayMs), hitShare: 1, cutsMs: [] },
		seededRandom(1),
	);
	assert.equal(snapshot?.profile.hits, 2);
	assert.deepEqual(snapshot?.labels, [0, 0, 0]);
});

test("moments are as frequent as hits: a one-time visitor's first visit counts like any other", () => {
	const plan = { ...planAt(startMs + 40 * dayMs), hitShare: 0.5, cutsMs: [] };
	const count = (hits: number) => {
		const log = history(Array.from({ length: hits }, (_, number) => hit(startMs + number * dayMs)));
		const taken = Array.from(
			{ length: 400 },
			(_, seed) => visitorSnapshots(log, plan, seededRandom(seed)).length,
		);
		return taken.reduce((sum, number) => sum + number, 0) / 400;
	};
	assert.ok(Math.abs(count(1) - 0.5) < 0.1);
	assert.ok(Math.abs(count(9) - 4.5) < 0.1);
});

test('at every cut, those known for long are as frequent as newcomers', () => {
	const cutsMs = cutsOf(startMs, startMs + 80 * dayMs, 8);
	const plan = { ...planAt(startMs + 90 * dayMs, 0.25), hitShare: 0, cutsMs };
	const lastCutMs = cutsMs.at(-1) as number;
	const takenAtLast = (firstDay: number) => {
		const log = history([hit(startMs + firstDay * dayMs)]);
		let taken = 0;
		for (let seed = 0; seed < 2000; seed++)
			for (const { atMs } of visitorSnapshots(log, plan, seededRandom(seed))) if (atMs === lastCutMs) taken++;
		return taken / 2000;
	};
	assert.ok(Math.abs(takenAtLast(0) - 0.25) < 0.04, 'known for eight cuts');
	assert.ok(Math.abs(takenAtLast(75) - 0.25) < 0.04, 'known for one');
});

test('who comes so often that only some hits are rows has rows that stand for more of them', () => {
	const hits = Array.from({ length: 640 }, (_, number) => hit(startMs + number * 1000));
	const rowsOf = (some: typeof hits, hitShare: number) =>
		visitorSnapshots(
			history(some),
			{ ...planAt(startMs + 9 * dayMs), cutsMs: [], hitShare },
			seededRandom(1),
		);
	const rows = rowsOf(hits, 0.5);
	assert.equal(rows.length, 32);
	assert.ok(rows.every(({ hits: standsFor }) => standsFor === 10));
	assert.ok(rowsOf(hits.slice(0, 20), 0.5).every(({ hits: standsFor = 1 }) => standsFor === 1));
});
