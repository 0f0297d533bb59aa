import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mean } from '../../../../src/capabilities/training/fit/measure.ts';
import { renewalSnapshots } from '../../../../src/capabilities/training/rows/renewal-snapshots.ts';
import type { SubscriptionEntry } from '../../../../src/core/domain/profile.ts';
import { hitEntry } from '../../../../src/core/domain/stored-hit.ts';
import { Cadences, monthDays } from '../../../../src/core/domain/subscription-cadence.ts';
import { dayMs, hourMs } from '../../../../src/core/durations.ts';
import { seededRandom } from '../../../../src/kit/random.ts';
import type { VisitorHistory } from '../../../../src/kit/reading/histories.ts';

const startMs = Date.UTC(2026, 0, 1);
const knownToMs = startMs + 400 * dayMs;
const cadences = new Cadences({ prices: [], evts: [['news', [monthDays]]], all: [] }, {});
const goal = { evts: ['*'], counts: 'renewal' } as const;
/** How many renew in time, by channel: what nobody but this simulation knows. */
const renewing = { email: 0.9, paid: 0.5 };

function visitHit(atMs: number, channel: string) {
	const body = {
		page: '/',
		url: 'https://shop.example/',
		referrer: null,
		title: '/',
		device: 'mobile',
		channel,
		events: [],
		cid: null,
	} as const;
	return hitEntry({ sid: `S${atMs}`, atMs, body, text: JSON.stringify(body) });
}

/** Monthly subscribers, who renew up to two days early or late, or never again. Some visit often, some never again. */
function subscriber(number: number): VisitorHistory & { channel: keyof typeof renewing } {
	const random = seededRandom(number + 1);
	const channel = random() < 0.5 ? 'email' : 'paid';
	const subid = `S-${number}`;
	let paidMs = startMs + random() * 300 * dayMs;
	const firstMs = paidMs - hourMs;
	const events = [];
	for (let goesOn = true; goesOn && paidMs < knownToMs; goesOn = random() < renewing[channel]) {
		const entry: SubscriptionEntry = {
			type: 'subscription',
			atMs: Math.round(paidMs),
			tid: `${subid}-${events.length}`,
			subid,
			evt: 'news',
			revenuePence: 999,
		};
		events.push({ entry, knownFromMs: entry.atMs, knownUntilMs: Number.POSITIVE_INFINITY });
		paidMs += (monthDays + 4 * random() - 2) * dayMs;
	}
	const visits = random() < 0.5 ? 0 : 40;
	const later = Array.from({ length: visits }, () => firstMs + random() * (knownToMs - firstMs));
	const hits = [firstMs, ...later.sort((a, b) => a - b)].map((atMs) => visitHit(Math.round(atMs), channel));
	return { vid: `V${number}`, channel, hits, events };
}

const subscribers = Array.from({ length: 1500 }, (_, number) => subscriber(number));

function snapshotsOf(history: VisitorHistory, seed = 1) {
	return renewalSnapshots(history, { goal, cadences, knownToMs }, seededRandom(seed));
}

test('on simulated truth, the share of renewals is that of each channel, and of what is overdue none comes', () => {
	for (const channel of ['email', 'paid'] as const) {
		const rows = subscribers.filter((one) => one.channel === channel).flatMap((one) => snapshotsOf(one));
		const [before, after] = [
			rows.filter(({ atMs, renewing: due }) => atMs < (due?.cover?.dueAtMs ?? 0) - 5 * dayMs),
			rows.filter(({ atMs, renewing: due }) => atMs > (due?.cover?.dueAtMs ?? 0) + 5 * dayMs),
		].map((some) => some.map(({ labels }) => labels[0] as number)) as [number[], number[]];
		const truth = renewing[channel];
		const standardError = Math.sqrt((truth * (1 - truth)) / before.length);
		assert.ok(Math.abs(mean(before) - truth) < 3 * standardError, `${channel}: ${mean(before)}`);
		assert.ok(after.length > 20 && mean(after) === 0);
	}
});

test('each payment whose time to renew is over gives at most one row, however often its visitor comes', () => {
	for (const one of subscribers.slice(0, 300)) {
		const rows = snapshotsOf(one);
		const over = one.events.filter(({ entry }) => entry.atMs + 1.5 * monthDays * dayMs <= knownToMs);
		assert.ok(rows.length <= over.length);
		for (const { atMs, knownAtMs = 0, profile, renewing: due, labels } of rows) {
			assert.ok(atMs <= knownAtMs && knownAtMs <= knownToMs);
			assert.ok(profile.lastAtMs <= atMs, 'nothing later is known');
			assert.equal(due?.paidAtMs, one.events.findLast(({ entry }) => entry.atMs <= atMs)?.entry.atMs);
			const next = one.events.find(({ entry }) => entry.atMs > atMs);
			assert.equal(labels[0], next && next.entry.atMs <= knownAtMs ? 1 : 0);
		}
	}
});

test('what may still be renewed gives no row, whether it was or not', () => {
	const [one] = subscribers as unknown as [VisitorHistory];
	const [first] = one.events as [(typeof one.events)[number]];
	const until = (days: number) =>
		renewalSnapshots(
			{ ...one, events: one.events.filter(({ entry }) => entry.atMs <= first.entry.atMs + days * dayMs) },
			{ goal, cadences, knownToMs: first.entry.atMs + days * dayMs },
			() => 0,
		).length;
	assert.deepEqual([until(31), until(44), until(46)], [0, 0, 1]);
});

test('a refund is no renewal, and an upload of another goal is none', () => {
	const [one] = subscribers as unknown as [VisitorHistory];
	const [first] = one.events as [(typeof one.events)[number]];
	const entry = { ...first.entry, tid: 'back', atMs: first.entry.atMs + 35 * dayMs, revenuePence: -999 };
	const history = { ...one, events: [first, { ...first, entry, knownFromMs: entry.atMs }] };
	const plan = { cadences, knownToMs };
	assert.deepEqual(
		renewalSnapshots(history, { ...plan, goal }, () => 0.2).map(({ labels }) => labels),
		[[0]],
	);
	assert.deepEqual(
		renewalSnapshots(history, { ...plan, goal: { ...goal, evts: ['other'] } }, () => 0.2),
		[],
	);
});
