import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { eraseVisitor } from '../../../../src/capabilities/visitors/store/erasure.ts';
import type { Profile } from '../../../../src/core/domain/profile.ts';
import type { ArrivingHit } from '../../../../src/core/domain/stored-hit.ts';
import type { ServingWriter } from '../../../../src/core/store/serving.ts';
import { examples, takesLong } from '../../../quick.ts';
import {
	type Engine,
	openAccountOn,
	openFor,
	receivedAtMs,
	type Serving,
	startWritingFor,
	subscriptionEvent,
	upload,
} from '../engines.ts';
import { derived, hit } from '../made-hits.ts';
import { assertAsTheLogSays } from './visitors.ts';

interface Derived {
	readonly visitors: readonly { readonly vid: string }[];
	readonly visits: readonly { readonly sid: string; readonly vid: string; readonly profile: string }[];
	readonly events: readonly {
		readonly tid: string;
		readonly cid: string | null;
		readonly vid: string | null;
	}[];
}

async function derivedFrom({ store, accountId }: Serving): Promise<Derived> {
	return (await derived(store, accountId)) as Derived;
}

/** A separate writer for each of several concurrent hits, if an engine allows several. */
async function twoWriters(t: Parameters<typeof openFor>[0], engine: Engine, serving: Serving) {
	if (engine.isFolder) return [serving.writer, serving.writer] as const;
	return [serving.writer, await startWritingFor(t, await openFor(t, serving.address))] as const;
}

/** The contract for concurrent hits and uploads. */
export function joinContract(engine: Engine): void {
	suite(`what arrives at once on ${engine.name}`, () => {
		test('for a repeated tid, the stored event decides who owns the sale', async () => {
			const serving = await openAccountOn(engine);
			const { store, writer, accountId } = serving;
			const holders = new Map<string, string>();
			for (const cid of ['C-0', 'C-1', 'C-2']) {
				const { vid } = await writer.storeHit(accountId, hit({}, { cid }));
				holders.set(cid, vid);
			}
			const event = fc.record({
				tid: fc.nat(5),
				cid: fc.option(fc.constantFrom('C-0', 'C-1', 'C-2', 'C-3')),
			});
			const requests = fc.array(fc.array(event, { minLength: 1, maxLength: 8 }), {
				minLength: 1,
				maxLength: 8,
			});
			let run = 0;
			await fc.assert(
				fc.asyncProperty(requests, async (given) => {
					const prefix = `T-${run++}`;
					const { vid } = await writer.storeHit(
						accountId,
						hit({}, { events: [{ name: 'order', tid: `${prefix}-0` }] }),
					);
					await Promise.all(
						given.map((events) =>
							upload(
								writer,
								accountId,
								events.map(({ tid, cid }) => subscriptionEvent({ tid: `${prefix}-${tid}`, cid })),
							),
						),
					);
					const { events } = await derivedFrom(serving);
					for (const { tid, cid, vid: owner } of events.filter((one) => one.tid.startsWith(`${prefix}-`)))
						assert.equal(owner, tid === `${prefix}-0` ? vid : (holders.get(cid ?? '') ?? null), tid);
				}),
				{ numRuns: examples(25) },
			);
			await assertAsTheLogSays(store, accountId);
		});

		test("hits with another visitor's sid do not change that visit", async (t) => {
			const serving = await openAccountOn(engine);
			const { store, accountId } = serving;
			const [one, other] = await twoWriters(t, engine, serving);
			const owner = await one.storeHit(accountId, hit());
			const thief = await other.storeHit(accountId, hit());
			const hits = 60;
			for (let n = 1; n <= hits; n++)
				await Promise.all([
					one.storeHit(accountId, hit({ ...owner, atMs: receivedAtMs + n })),
					other.storeHit(accountId, hit({ vid: thief.vid, sid: owner.sid, atMs: receivedAtMs + n })),
				]);
			const { visits } = await derivedFrom(serving);
			const profile = JSON.parse(visits.find(({ sid }) => sid === owner.sid)?.profile ?? '{}') as Profile;
			assert.equal(profile.hits, hits + 1);
			await assertAsTheLogSays(store, accountId);
		});

		test('an erasure leaves nothing, whoever shows erased keys later', {
			skip: !engine.isFolder && takesLong,
		}, async (t) => {
			const serving = await openAccountOn(engine);
			const { store, accountId } = serving;
			const [one, other] = await twoWriters(t, engine, serving);
			for (let round = 0; round < 12; round++) {
				const [cid, tid] = [`C-${round}`, `T-${round}`];
				const owner = await one.storeHit(accountId, hit({}, { cid, title: 'private' }));
				const thief = await other.storeHit(accountId, hit());
				await upload(one, accountId, [subscriptionEvent({ tid, cid })]);
				let isOver = false;
				const goOn = async (writer: ServingWriter, fields: Partial<ArrivingHit>, bodyFields = {}) => {
					for (let atMs = receivedAtMs + 1; !isOver; atMs++)
						await writer.storeHit(accountId, hit({ ...fields, atMs }, bodyFields));
				};
				const hits = [
					goOn(one, { vid: thief.vid, sid: owner.sid }),
					goOn(other, owner),
					goOn(other, owner, { cid, events: [{ name: 'order', tid }] }),
				];
				await other.storeHit(accountId, hit({ ...owner, atMs: receivedAtMs + 1 }));
				await eraseVisitor(store, accountId, owner.vid);
				isOver = true;
				await Promise.all(hits);
				const { visitors, visits, events } = await derivedFrom(serving);
				const left = [...visitors, ...visits, ...events].filter(({ vid }) => vid === owner.vid);
				assert.deepEqual(left, []);
				assert.equal(
					visits.find(({ sid }) => sid === owner.sid),
					undefined,
				);
			}
			await assertAsTheLogSays(store, accountId);
		});
	});
}
