import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AccountRows, accountRows } from '../../../../src/capabilities/training/rows/account-rows.ts';
import type { Dataset } from '../../../../src/capabilities/training/rows/dataset.ts';
import { defaultGoals, goalDefaults } from '../../../../src/core/domain/goal.ts';
import { noGateways } from '../../../../src/core/domain/mail-gateways.ts';
import { hitEntry } from '../../../../src/core/domain/stored-hit.ts';
import { Cadences, monthDays } from '../../../../src/core/domain/subscription-cadence.ts';
import { dayMs } from '../../../../src/core/durations.ts';
import type { AccountHistory } from '../../../../src/kit/reading/histories.ts';
import { logEndMs, type MadeUpVisitor, madeUpVisitors } from '../made-up-log.ts';

const asOfMs = logEndMs - 10 * dayMs;
const goals = [...defaultGoals, { name: 'soon', evts: ['*'], ...goalDefaults, horizonDays: 1 }];

const monthly = new Cadences({ prices: [], evts: [['membership', [monthDays]]], all: [] }, {});

/** Logs in memory, read as a store reads them. */
function readerOf(visitors: readonly MadeUpVisitor[]): AccountHistory {
	const byVid = new Map(visitors.map((visitor) => [visitor.vid, visitor]));
	const vids = [...byVid.keys()].sort();
	const hitsOf = (vid: string, untilMs: number) =>
		(byVid.get(vid)?.hits ?? []).filter(({ atMs }) => atMs <= untilMs);
	return {
		cadences: async () => monthly,
		gateways: async () => noGateways,
		cancellationEvt: null,
		historyExtent: async (untilMs) => {
			const times = vids.flatMap((vid) => hitsOf(vid, untilMs).map(({ atMs }) => atMs));
			const uploads = vids
				.flatMap((vid) => (byVid.get(vid)?.events ?? []).map(({ receivedAtMs }) => receivedAtMs))
				.filter((atMs) => atMs <= untilMs);
			return {
				hits: times.length,
				uploads: uploads.length,
				fromMs: times.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY),
				toMs: [...times, ...uploads].reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY),
			};
		},
		hitsBefore: async (untilMs, limit) =>
			vids
				.flatMap((vid) => hitsOf(vid, untilMs).map(({ atMs }) => ({ vid, atMs })))
				.sort((a, b) => b.atMs - a.atMs)
				.slice(0, limit),
		vidsAfter: async (after, limit) => vids.filter((vid) => vid > after).slice(0, limit),
		firstHits: async (some, untilMs) =>
			some.flatMap((vid) => {
				const [first] = hitsOf(vid, untilMs);
				return first ? [{ vid, atMs: first.atMs, body: JSON.stringify(first.body) }] : [];
			}),
		visitorHistories: async (some, untilMs) =>
			some.flatMap((vid) => {
				const hits = hitsOf(vid, untilMs).map((one) => hitEntry({ ...one, text: JSON.stringify(one.body) }));
				const events = (byVid.get(vid)?.events ?? []).filter(({ receivedAtMs }) => receivedAtMs <= untilMs);
				return hits.length === 0
					? []
					: [
							{
								vid,
								hits,
								events: events.map(({ tid, subid, evt, rvn, receivedAtMs }) => ({
									entry: {
										type: 'subscription' as const,
										atMs: receivedAtMs,
										tid,
										subid,
										evt,
										revenuePence: rvn,
									},
									knownFromMs: receivedAtMs,
									knownUntilMs: Number.POSITIVE_INFINITY,
								})),
							},
						];
			}),
	};
}

function rowsOf(visitors: readonly MadeUpVisitor[], seed = 1, untilMs = asOfMs): Promise<AccountRows> {
	return accountRows(readerOf(visitors), { goals, asOfMs: untilMs, seed, onProgress: () => {} });
}

/** Everything that training uses, as texts, so that a failure shows the first difference. */
function content({ rows, history }: AccountRows): unknown {
	return JSON.stringify({
		history,
		rows: rows.map(({ goal, scope, dataset }) => ({ goal: goal.name, scope, dataset })),
	})
		.match(/.{1,200}/gs)
		?.map((part, index) => `${index} ${part}`);
}

function conversionsOf({ labels }: Dataset): number {
	return labels.reduce((sum, label) => sum + label, 0);
}

function assertSame(actual: unknown, expected: unknown): void {
	const [a, b] = [actual, expected] as [string[], string[]];
	const at = a.findIndex((part, index) => part !== b[index]);
	assert.equal(at < 0 ? b.length : a[at], at < 0 ? a.length : b[at]);
}

const visitors = madeUpVisitors(150);

test('each goal has rows of visitors and of visits, with its own labels', async () => {
	const { rows, history } = await rowsOf(visitors);
	assert.deepEqual(
		rows.map(({ goal, scope }) => `${goal.name} ${scope}`),
		[
			...['subscription vid', 'return vid', 'subscription sid', 'return sid', 'soon vid', 'soon sid'],
			// A visit by itself has no subscription that could be renewed.
			'renewal vid',
		],
	);
	const [subscription, comesBack, , , soon] = rows.map(({ dataset }) => conversionsOf(dataset));
	assert.ok(Number(comesBack) > Number(subscription) && Number(subscription) > Number(soon));
	const [ofAll = 0, , , , , , ofSubscribers = 0] = rows.map(({ dataset }) => dataset.rows);
	assert.ok(ofSubscribers > 0 && ofSubscribers < ofAll / 2, 'only who has subscribed can renew');
	assert.equal(history.sampledShare, 1);
	assert.ok(history.visitors > 100);
});

test('the same history and seed give the same rows; another seed gives others', async () => {
	assertSame(content(await rowsOf(visitors)), content(await rowsOf([...visitors].reverse())));
	const [two, three] = [content(await rowsOf(visitors, 2)), content(await rowsOf(visitors, 3))];
	assert.throws(() => assertSame(two, three));
});

test('nothing later than the moment changes the rows: no hit, upload, visitor or name', async () => {
	const before = visitors.flatMap((visitor): MadeUpVisitor[] => {
		const hits = visitor.hits.filter(({ atMs }) => atMs <= asOfMs);
		const events = visitor.events.filter(({ receivedAtMs }) => receivedAtMs <= asOfMs);
		return hits.length > 0 ? [{ ...visitor, hits, events }] : [];
	});
	const late = madeUpVisitors(50, 7).map((visitor) => ({
		...visitor,
		events: [],
		hits: visitor.hits.map((one) => ({ ...one, atMs: asOfMs + 1, body: { ...one.body, page: 'zebra' } })),
	}));
	const expected = content(await rowsOf(before));
	assertSame(content(await rowsOf(visitors)), expected);
	assertSame(content(await rowsOf([...visitors, ...late])), expected);
	assert.ok(!JSON.stringify(expected).includes('zebra'));
});

test('rows do not depend on the ids of visitors, so an account has no influence on the sample', async () => {
	const others = visitors.map((visitor, number) => ({
		...visitor,
		vid: `${((number * 7919) % 150).toString(16).padStart(4, '0')}${visitor.vid.slice(4)}`,
	}));
	const options = { goals, asOfMs, seed: 1, rows: 300, onProgress: () => {} };
	const expected = content(await accountRows(readerOf(visitors), options));
	assertSame(content(await accountRows(readerOf(others), options)), expected);
});

test('the time after the end of a log does not count as a time without conversions', async () => {
	const endedMs = Math.max(...visitors.flatMap(({ hits }) => hits.map(({ atMs }) => atMs)));
	const { asOfMs: seenMs, history } = await rowsOf(visitors, 1, logEndMs + 90 * dayMs);
	assert.ok(seenMs >= endedMs && seenMs <= logEndMs);
	assert.ok(history.silentDays >= 90 && history.silentDays < 100);
	const rows = (taken: AccountRows) =>
		taken.rows.map(({ dataset }) => [dataset.rows, conversionsOf(dataset)]);
	assert.deepEqual(
		rows(await rowsOf(visitors, 1, logEndMs + 90 * dayMs)),
		rows(await rowsOf(visitors, 1, seenMs)),
	);
});

test('the number of rows is bounded for many visitors', async () => {
	const { rows } = await accountRows(readerOf(madeUpVisitors(1500)), {
		goals,
		asOfMs: logEndMs,
		seed: 1,
		rows: 1000,
		onProgress: () => {},
	});
	for (const { goal, dataset } of rows) {
		// Only who has subscribed can renew.
		const least = goal.counts === 'renewal' ? 1 : 200;
		assert.ok(dataset.rows > least && dataset.rows < 1200, `${dataset.rows}`);
	}
});

test('a missing history, or one shorter than a horizon, gives no rows', async () => {
	for (const { dataset } of (await rowsOf([])).rows) assert.equal(dataset.rows, 0);
	const first = Math.min(...visitors.flatMap(({ hits }) => hits.map(({ atMs }) => atMs)));
	const { rows } = await rowsOf(visitors, 1, first + dayMs);
	assert.deepEqual(
		rows.map(({ dataset }) => dataset.rows > 0),
		[false, false, false, false, true, true, false],
	);
});
