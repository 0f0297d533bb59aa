import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultGoals, goalDefaults } from '../../src/domain/goal.ts';
import { type AccountRows, accountRows, type HistoryReader } from '../../src/scoring/account-rows.ts';
import { hitEntry } from '../../src/store/account/visitor-log.ts';
import { logEndMs, type MadeUpVisitor, madeUpVisitors } from './made-up-log.ts';

const dayMs = 86_400_000;
const asOfMs = logEndMs - 10 * dayMs;
const goals = [...defaultGoals, { name: 'soon', evts: ['*'], ...goalDefaults, horizonDays: 1 }];

/** Logs in memory, read as a store reads them. */
function readerOf(visitors: readonly MadeUpVisitor[]): HistoryReader {
	const byVid = new Map(visitors.map((visitor) => [visitor.vid, visitor]));
	const vids = [...byVid.keys()].sort();
	const hitsOf = (vid: string, untilMs: number) =>
		(byVid.get(vid)?.hits ?? []).filter(({ atMs }) => atMs <= untilMs);
	return {
		historyExtent: async (untilMs) => {
			const times = vids.flatMap((vid) => hitsOf(vid, untilMs).map(({ atMs }) => atMs));
			return { hits: times.length, fromMs: times.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY) };
		},
		vidsAfter: async (after, limit) => vids.filter((vid) => vid > after).slice(0, limit),
		visitorHistories: async (some, untilMs) =>
			some.flatMap((vid) => {
				const hits = hitsOf(vid, untilMs).map((one) => hitEntry({ ...one, text: JSON.stringify(one.body) }));
				const events = (byVid.get(vid)?.events ?? []).filter(({ receivedAtMs }) => receivedAtMs <= untilMs);
				return hits.length === 0
					? []
					: [
							{
								...{ vid, hits },
								events: events.map(({ tid, subid, evt, rvn, receivedAtMs }) => ({
									entry: {
										...{ type: 'subscription' as const, atMs: receivedAtMs },
										...{ tid, subid, evt, revenuePence: rvn },
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

/** Everything that training can see. */
function content({ rows, told }: AccountRows): unknown {
	return {
		told,
		rows: rows.map(({ goal, scope, dataset }) => {
			const all = Uint32Array.from({ length: dataset.rows }, (_, row) => row);
			const { features } = dataset;
			return {
				...{ goal: goal.name, scope, features },
				numeric: features.numeric.map((_, column) => dataset.numeric(column, all)),
				texts: features.categorical.map((_, column) =>
					Array.from(dataset.categorical(column, all), (code) => dataset.texts(column)[code]),
				),
				...{ labels: dataset.labels(all), atMs: dataset.atMs(all), groups: dataset.groups(all) },
			};
		}),
	};
}

const visitors = madeUpVisitors(400);

test('each goal has rows of visitors and of visits, and its own outcomes', async () => {
	const { rows, told } = await rowsOf(visitors);
	assert.deepEqual(
		rows.map(({ goal, scope }) => `${goal.name} ${scope}`),
		['subscription vid', 'return vid', 'subscription sid', 'return sid', 'soon vid', 'soon sid'],
	);
	const [subscription, comesBack, , , soon] = rows.map(({ dataset }) => dataset.conversions);
	assert.ok(Number(comesBack) > Number(subscription) && Number(subscription) > Number(soon));
	assert.match(told.join(' '), /All \d+ visitors were read\. There are few visitors/);
});

test('the same history and seed give the same rows; another seed others', async () => {
	assert.deepEqual(content(await rowsOf(visitors)), content(await rowsOf([...visitors].reverse())));
	assert.notDeepEqual(content(await rowsOf(visitors, 2)), content(await rowsOf(visitors, 3)));
});

test('what comes after the moment changes nothing: no hit, no upload, no visitor, no name', async () => {
	const before = visitors.flatMap((visitor): MadeUpVisitor[] => {
		const hits = visitor.hits.filter(({ atMs }) => atMs <= asOfMs);
		const events = visitor.events.filter(({ receivedAtMs }) => receivedAtMs <= asOfMs);
		return hits.length > 0 ? [{ ...visitor, hits, events }] : [];
	});
	const late = madeUpVisitors(50, 7).map((visitor) => ({
		...visitor,
		hits: visitor.hits.map((one) => ({ ...one, atMs: asOfMs + 1, body: { ...one.body, page: 'zebra' } })),
	}));
	const expected = content(await rowsOf(before));
	assert.deepEqual(content(await rowsOf(visitors)), expected);
	assert.deepEqual(content(await rowsOf([...visitors, ...late])), expected);
	assert.ok(!JSON.stringify(expected).includes('zebra'));
});

test('where visitors are many, each gives one row of each kind', async () => {
	const { rows, told } = await accountRows(readerOf(madeUpVisitors(7000)), {
		...{ goals, asOfMs: logEndMs, seed: 1, fewestRows: 5000 },
		onProgress: () => {},
	});
	assert.match(told.join(' '), /Each visitor gives one row/);
	for (const { dataset } of rows) {
		const groups = dataset.groups(Uint32Array.from({ length: dataset.rows }, (_, row) => row));
		assert.equal(new Set(groups).size, dataset.rows);
	}
});

test('no history, or one that is shorter than a horizon, gives no rows', async () => {
	for (const { dataset } of (await rowsOf([])).rows) assert.equal(dataset.rows, 0);
	const first = Math.min(...visitors.flatMap(({ hits }) => hits.map(({ atMs }) => atMs)));
	const { rows } = await rowsOf(visitors, 1, first + dayMs);
	assert.deepEqual(
		rows.map(({ dataset }) => dataset.rows > 0),
		[false, false, false, false, true, true],
	);
});
