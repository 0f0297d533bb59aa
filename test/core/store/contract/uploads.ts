import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { Deadline } from '../../../../src/core/deadline.ts';
import type { SubscriptionEvent } from '../../../../src/core/domain/subscription-event.ts';
import { countRows } from '../../../../src/core/store/account/reading/rows.ts';
import { subscriptionEvents as storedSubscriptionEvents } from '../../../../src/core/store/account/reading/stored-events.ts';
import { codePoint } from '../../../code-point.ts';
import { examples } from '../../../quick.ts';
import {
	addAccount,
	type Engine,
	openAccountOn,
	openFor,
	receivedAtMs,
	storedContent,
	storedEvents,
	subscriptionEvent,
	subscriptionEvents,
	upload,
} from '../engines.ts';

/** Text that the operation accepts: no control characters, no lone surrogates, not empty. */
const text = fc
	.string({ unit: codePoint, minLength: 1, maxLength: 60 })
	.filter((value) => value.isWellFormed() && !/[\u0000-\u001f\u007f-\u009f]/.test(value));

/** The contract of every engine for uploads. */
export function uploadContract(engine: Engine): void {
	suite(`uploads on ${engine.name}`, () => {
		test('every field is stored exactly, in order of arrival', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const first = subscriptionEvent({ cid: 'C-1', rvn: -499 });
			const second = subscriptionEvent();
			assert.deepEqual(await upload(writer, accountId, [first]), {
				stored: 1,
				duplicateRows: [],
				conflictingRows: [],
			});
			assert.deepEqual(await upload(writer, accountId, [second]), {
				stored: 1,
				duplicateRows: [],
				conflictingRows: [],
			});
			const receivedAt = '2026-11-21T10:00:00.000Z';
			assert.deepEqual(await storedEvents(store, accountId), [
				{ ...first, receivedAt },
				{ ...second, receivedAt },
			]);
		});

		test('any text is stored exactly: case, spaces, composed and decomposed letters, emoji', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const alike = [
				'a',
				'A',
				' a',
				'a ',
				'\u00e4',
				'a\u0308',
				'ß',
				'SS',
				'👩‍👩‍👧',
				'👩',
				"'; --",
				'%',
				'\\',
				'0',
				'00',
			];
			const given = alike.map((tid) => subscriptionEvent({ tid, subid: tid, cid: tid, evt: tid }));
			assert.equal((await upload(writer, accountId, given)).stored, alike.length);
			assert.deepEqual(await storedContent(store, accountId), given);

			const kept = new Map(given.map((event) => [event.tid, event]));
			await fc.assert(
				fc.asyncProperty(text, text, fc.option(text), text, async (tid, subid, cid, evt) => {
					const event = { tid, subid, cid, evt, rvn: 0 };
					if (!kept.has(tid)) kept.set(tid, event);
					await upload(writer, accountId, [event]);
				}),
				{ numRuns: examples(50) },
			);
			assert.deepEqual(await storedContent(store, accountId), [...kept.values()]);
		});

		test('revenue is stored exactly up to the largest safe integers', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const revenues = [0, 1, -1, 2 ** 31, -(2 ** 31) - 1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER];
			const given = revenues.map((rvn) => subscriptionEvent({ rvn }));
			await upload(writer, accountId, given);
			assert.deepEqual(await storedContent(store, accountId), given);
			// Equal content is no conflict.
			assert.deepEqual(await upload(writer, accountId, given), {
				stored: 0,
				duplicateRows: revenues.map((_, row) => row),
				conflictingRows: [],
			});
		});

		test('the first event with a tid is stored for ever, and conflicts are distinguished from repeats', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const first = subscriptionEvent({ tid: 'T', cid: 'C' });
			await upload(writer, accountId, [first]);
			assert.deepEqual(await upload(writer, accountId, [first]), {
				stored: 0,
				duplicateRows: [0],
				conflictingRows: [],
			});
			const others: Partial<SubscriptionEvent>[] = [
				{ subid: 'other' },
				{ cid: null },
				{ cid: 'c' },
				{ evt: 'other' },
				{ rvn: 0 },
			];
			for (const other of others)
				assert.deepEqual(
					await upload(writer, accountId, [{ ...first, ...other }]),
					{ stored: 0, duplicateRows: [0], conflictingRows: [0] },
					JSON.stringify(other),
				);
			assert.deepEqual(await storedContent(store, accountId), [first]);
		});

		test('the same holds within one upload', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const first = subscriptionEvent({ tid: 'T' });
			const other = { ...first, rvn: first.rvn + 1 };
			assert.deepEqual(await upload(writer, accountId, [first, other, first, subscriptionEvent()]), {
				stored: 2,
				duplicateRows: [1, 2],
				conflictingRows: [1],
			});
			assert.deepEqual((await storedContent(store, accountId))[0], first);
		});

		test('a simulated upload has the outcome of a real one, and stores nothing', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const known = subscriptionEvent();
			await upload(writer, accountId, [known]);
			const given = [subscriptionEvent(), known, { ...known, evt: 'other' }, subscriptionEvent()];
			const simulated = await upload(writer, accountId, given, { simulate: true });
			assert.deepEqual(await storedContent(store, accountId), [known]);
			assert.deepEqual(simulated, { stored: 2, duplicateRows: [1, 2], conflictingRows: [2] });
			assert.deepEqual(await upload(writer, accountId, given), simulated);
		});

		test('any sequence of uploads results in a map from tid to its first event', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const model = new Map<string, SubscriptionEvent>();
			const tid = fc.integer({ min: 0, max: 40 }).map(String);
			const fields = { tid, subid: tid, cid: fc.option(tid), evt: fc.constantFrom('a', 'b'), rvn: fc.nat(1) };
			const event = fc.record(fields, { noNullPrototype: true });
			await fc.assert(
				fc.asyncProperty(
					fc.array(event, { minLength: 1, maxLength: 12 }),
					fc.boolean(),
					async (given, simulate) => {
						const after = new Map(model);
						const rows = { duplicate: [] as number[], conflicting: [] as number[] };
						for (const [row, one] of given.entries()) {
							if (after.has(one.tid)) rows.duplicate.push(row);
							else after.set(one.tid, one);
							if (JSON.stringify(after.get(one.tid)) !== JSON.stringify(one)) rows.conflicting.push(row);
						}
						assert.deepEqual(await upload(writer, accountId, given, { simulate }), {
							stored: after.size - model.size,
							duplicateRows: rows.duplicate,
							conflictingRows: rows.conflicting,
						});
						if (!simulate) for (const [key, value] of after) model.set(key, value);
					},
				),
				{ numRuns: examples(40) },
			);
			assert.deepEqual(await storedContent(store, accountId), [...model.values()]);
		});

		test('an upload may exceed the size of one statement', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const given = subscriptionEvents(1000);
			given[999] = given[0] as SubscriptionEvent;
			given[501] = { ...(given[99] as SubscriptionEvent), subid: 'other' };
			assert.deepEqual(await upload(writer, accountId, given), {
				stored: 998,
				duplicateRows: [501, 999],
				conflictingRows: [501],
			});
			assert.equal((await storedContent(store, accountId)).length, 998);
		});

		test('an upload after its deadline expires, and nothing is stored', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const given = { events: subscriptionEvents(3), receivedAtMs, simulate: false };
			const others = [1, 2, 3].map(() => upload(writer, accountId, subscriptionEvents(1)));
			const deadline = new Deadline(0, () => {});
			assert.equal(await writer.storeSubscriptionEvents(accountId, given, deadline), 'expired');
			assert.deepEqual(
				(await Promise.all(others)).map(({ stored }) => stored),
				[1, 1, 1],
			);
			assert.equal((await storedContent(store, accountId)).length, 3);
		});

		test('either the deadline or the commit decides: expired uploads are not stored, all others are', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const told = new Set<string>();
			const outcomes = Array.from({ length: 400 }, async (_, index) => {
				const events = subscriptionEvents(10);
				const tid = events[0]?.tid as string;
				const deadline = new Deadline(index % 20, () => told.add(tid));
				const given = { events, receivedAtMs, simulate: false };
				const outcome = await writer.storeSubscriptionEvents(accountId, given, deadline);
				deadline.clear();
				return { tid, outcome };
			});
			const results = await Promise.all(outcomes);
			const stored = (await storedContent(store, accountId)).map(({ tid }) => tid);
			const expired = results.filter(({ outcome }) => outcome === 'expired');
			assert.ok(expired.length >= 20, 'those that had no time at all');
			assert.equal(stored.length, 10 * (results.length - expired.length));
			for (const { tid, outcome } of results) {
				assert.equal(stored.includes(tid), outcome !== 'expired');
				if (told.has(tid)) assert.equal(outcome, 'expired');
			}
		});

		test('of concurrent uploads of the same tids, each tid is stored once and whole', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const tids = Array.from({ length: 20 }, (_, index) => `T-${index}`);
			const uploads = Array.from({ length: 50 }, (_, number) =>
				tids.map((tid) => ({ tid, subid: `S-${number}`, cid: `C-${number}`, evt: 'e', rvn: number })),
			);
			const outcomes = await Promise.all(uploads.map((given) => upload(writer, accountId, given)));
			const stored = outcomes.map((outcome) => outcome.stored);
			assert.equal(
				stored.reduce((sum, count) => sum + count, 0),
				tids.length,
			);
			assert.ok(outcomes.every((outcome) => outcome.stored + outcome.duplicateRows.length === tids.length));
			const winner = stored.indexOf(tids.length);
			assert.notEqual(winner, -1, 'one upload came first, and so did all of its events');
			assert.deepEqual(await storedContent(store, accountId), uploads[winner]);
			const allRows = tids.map((_, row) => row);
			assert.deepEqual(
				outcomes
					.filter((_, number) => number !== winner)
					.map(({ duplicateRows, conflictingRows }) => [duplicateRows, conflictingRows]),
				Array.from({ length: 49 }, () => [allRows, allRows]),
			);
		});

		test('accounts are isolated from each other', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const otherId = await addAccount(store, undefined, 'other');
			const here = subscriptionEvent({ tid: 'T' });
			const there = { ...here, subid: 'there' };
			const both = [upload(writer, accountId, [here]), upload(writer, otherId, [there])];
			for (const outcome of await Promise.all(both))
				assert.deepEqual(outcome, { stored: 1, duplicateRows: [], conflictingRows: [] });
			assert.deepEqual(await storedContent(store, accountId), [here]);
			assert.deepEqual(await storedContent(store, otherId), [there]);
		});

		test('acknowledged events can be read at once by another store', async (t) => {
			const { address, writer, accountId } = await openAccountOn(engine);
			const reader = await openFor(t, address);
			for (let count = 1; count <= 20; count++) {
				await upload(writer, accountId, subscriptionEvents(1));
				assert.equal(await reader.read(accountId, countRows('subscription_event')), count);
			}
		});

		test('events are read in pages, or by tid', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const given = subscriptionEvents(2500);
			await upload(writer, accountId, given);
			assert.deepEqual(await storedContent(store, accountId), given);
			const find = (tid: string) => Array.fromAsync(storedSubscriptionEvents(store, accountId, { tid }));
			assert.equal((await find(given[1234]?.tid as string)).length, 1);
			assert.deepEqual(await find('none'), []);
		});
	});
}
