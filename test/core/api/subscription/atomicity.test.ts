import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { SubscriptionEvent } from '../../../../src/core/domain/subscription-event.ts';
import { examples } from '../../../quick.ts';
import { openAccount } from '../../../shared-server.ts';

/** An event to upload. There are few tids, so that batches have many in common. */
const eventArbitrary: fc.Arbitrary<SubscriptionEvent> = fc.record(
	{
		tid: fc.integer({ min: 0, max: 15 }).map((number) => `T-${number}`),
		subid: fc.constantFrom('S-1', 'S-2'),
		cid: fc.constantFrom('C-1', null),
		evt: fc.constantFrom('newsletter', 'renewal'),
		rvn: fc.integer({ min: -100, max: 100 }),
	},
	{ noNullPrototype: true },
);

interface Batch {
	readonly events: readonly SubscriptionEvent[];
	readonly simulate: boolean;
	/** The index of the event to make invalid. */
	readonly flaw: number | null;
}

const batchArbitrary: fc.Arbitrary<Batch> = fc.record({
	events: fc.array(eventArbitrary, { minLength: 1, maxLength: 8 }),
	simulate: fc.boolean(),
	flaw: fc.option(fc.nat(7), { freq: 4 }),
});

/** The contract: the first write of a tid wins for ever, and only 201 stores. */
class Model {
	readonly rows = new Map<string, SubscriptionEvent>();

	upload({ events, simulate, flaw }: Batch): { status: number; stored?: string; duplicate?: string } {
		if (flaw !== null) return { status: 400 };
		const fresh = new Map<string, SubscriptionEvent>();
		for (const event of events)
			if (!this.rows.has(event.tid) && !fresh.has(event.tid)) fresh.set(event.tid, event);
		if (!simulate) for (const [tid, event] of fresh) this.rows.set(tid, event);
		return {
			status: simulate ? 200 : 201,
			stored: String(fresh.size),
			duplicate: String(events.length - fresh.size),
		};
	}
}

/** A new account for each run of a property. */
async function freshAccount(): Promise<{
	upload: (batch: Batch) => Promise<Response>;
	stored: () => Promise<SubscriptionEvent[]>;
}> {
	const account = await openAccount();
	return {
		upload: ({ events, simulate, flaw }) => {
			const data = events.map((event, index) =>
				flaw !== null && flaw % events.length === index ? { ...event, evt: '' } : event,
			);
			return account.upload({ aid: account.aid, data, simulate });
		},
		stored: async () => (await account.stored()).map(({ receivedAt: _, ...event }) => event),
	};
}

function outcomeOf(answer: Response): object {
	return answer.status === 400
		? { status: 400 }
		: {
				status: answer.status,
				stored: answer.headers.get('x-events-stored'),
				duplicate: answer.headers.get('x-events-duplicate'),
			};
}

test('sequential batches give the answers and rows of the model', async () => {
	await fc.assert(
		fc.asyncProperty(fc.array(batchArbitrary, { minLength: 1, maxLength: 12 }), async (batches) => {
			const { upload, stored } = await freshAccount();
			const model = new Model();
			for (const batch of batches) assert.deepEqual(outcomeOf(await upload(batch)), model.upload(batch));
			assert.deepEqual(await stored(), [...model.rows.values()]);
		}),
		{ numRuns: examples(40) },
	);
});

test('concurrent batches store each tid once, and their answers add up', async () => {
	await fc.assert(
		fc.asyncProperty(fc.array(batchArbitrary, { minLength: 2, maxLength: 25 }), async (batches) => {
			const { upload, stored } = await freshAccount();
			const answers = await Promise.all(batches.map(upload));
			const rows = await stored();
			let storedCount = 0;
			for (const [index, answer] of answers.entries()) {
				const { events, simulate, flaw } = batches[index] as Batch;
				assert.equal(answer.status, flaw !== null ? 400 : simulate ? 200 : 201);
				if (answer.status === 400) continue;
				const [fresh, duplicate] = ['x-events-stored', 'x-events-duplicate'].map((name) =>
					Number(answer.headers.get(name)),
				) as [number, number];
				assert.equal(fresh + duplicate, events.length);
				if (answer.status === 201) storedCount += fresh;
			}
			assert.equal(storedCount, rows.length);

			const accepted = batches.filter(({ simulate, flaw }) => !simulate && flaw === null);
			const tids = new Set(accepted.flatMap(({ events }) => events.map(({ tid }) => tid)));
			assert.deepEqual(rows.map(({ tid }) => tid).sort(), [...tids].sort());
			// Each tid has one whole event, the first of its batch.
			for (const row of rows)
				assert.ok(
					accepted.some(({ events }) =>
						sameEvent(
							events.find(({ tid }) => tid === row.tid),
							row,
						),
					),
					`nobody sent ${JSON.stringify(row)} first`,
				);
		}),
		{ numRuns: examples(25) },
	);
});

function sameEvent(one: SubscriptionEvent | undefined, other: SubscriptionEvent): boolean {
	return (
		one !== undefined &&
		Object.entries(one).every(([name, value]) => other[name as keyof SubscriptionEvent] === value)
	);
}

test('the same upload sent 50 times concurrently is stored once', async () => {
	const { upload, stored } = await freshAccount();
	const events = Array.from({ length: 30 }, (_, index) => ({
		tid: `T-${index}`,
		subid: 'S-1',
		cid: null,
		evt: 'newsletter',
		rvn: index,
	}));
	const answers = await Promise.all(
		Array.from({ length: 50 }, () => upload({ events, simulate: false, flaw: null })),
	);
	const counts = answers.map((answer) => answer.headers.get('x-events-stored')).sort();
	assert.deepEqual(counts, [...Array.from({ length: 49 }, () => '0'), '30']);
	assert.deepEqual(await stored(), events);
});
