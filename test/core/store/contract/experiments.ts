import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { drawOf } from '../../../../src/capabilities/experiments/domain/draw.ts';
import { countedBits } from '../../../../src/core/domain/distinct-count.ts';
import { dayMs } from '../../../../src/core/durations.ts';
import { assertRefuses, type Engine, openAccountOn } from '../engines.ts';
import { hit } from '../made-hits.ts';

/** The contract of every engine for experiments. */
export function experimentsContract(engine: Engine): void {
	suite(`experiments on ${engine.name}`, () => {
		const about = (segment: string, fromMs: number) => ({
			segment,
			rule: 'true',
			goal: 'subscription',
			holdoutPercent: 12.5,
			fromMs,
			toMs: null,
		});

		test('servers know an experiment until it is stopped, and its segment stays as it is', async () => {
			const { store, aid, accountId } = await openAccountOn(engine);
			const { control, now } = store;
			const known = async () => (await control.accessSnapshot()).accounts.get(aid)?.experiments;
			const created = await control.createExperiment(accountId, { name: 'offer', ...about('new', now()) });
			assert.match(created.secret, /^[\w-]{43}$/);
			assert.deepEqual(await known(), [created]);
			assert.deepEqual(await control.experiments(accountId), [created]);
			const again = (name: string, segment: string) =>
				control.createExperiment(accountId, { name, ...about(segment, now()) });
			await assertRefuses(again('other', 'new'), /experiment offer is about the segment new/);
			await assertRefuses(again('offer', 'engaged'), /an experiment offer already/);
			await assertRefuses(control.updateSegment(accountId, 'new', { rule: 'false' }), /experiment offer/);
			await assertRefuses(control.deleteSegment(accountId, 'new'), /experiment offer/);
			await control.updateSegment(accountId, 'new', { name: 'Newer' });
			const stopped = await control.stopExperiment(accountId, 'offer');
			assert.deepEqual(await control.stopExperiment(accountId, 'offer'), stopped);
			assert.deepEqual(await known(), []);
			await control.updateSegment(accountId, 'new', { rule: 'false' });
			await again('other', 'new');
			await assertRefuses(control.stopExperiment(accountId, 'none'), /has no experiment none/);
		});

		test('visitors who asked are counted once, by several servers and again', async () => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const experiment = await store.control.createExperiment(accountId, {
				name: 'offer',
				...about('new', store.now()),
			});
			const reads = Array.from({ length: 3000 }, (_, number) => {
				const { group, bits } = drawOf(experiment, number.toString(16).padStart(32, '0'));
				return { accountId, experiment: 'offer', group, ...countedBits(bits) };
			});
			// As a server tells them: of each register the highest.
			const highest = new Map<string, (typeof reads)[number]>();
			for (const read of reads) {
				const name = `${read.group} ${read.register}`;
				if (read.rank > (highest.get(name)?.rank ?? 0)) highest.set(name, read);
			}
			// Some by a server, some where none runs.
			const [some, others] = [[...highest.values()].slice(0, 700), [...highest.values()].slice(700)];
			await writer.recordCounts({ experimentReads: some });
			await store.control.recordExperimentReads(others);
			await writer.recordCounts({ experimentReads: reads.slice(0, 1) });
			const lower = [...highest.values()].map((read) => ({ ...read, rank: Math.max(1, read.rank - 1) }));
			await store.control.recordExperimentReads(lower);
			await store.control.recordExperimentReads([]);
			const held = reads.filter(({ group }) => group === 'holdout').length;
			const counted = await store.control.experimentReads(accountId, 'offer');
			assert.ok(Math.abs(counted.holdout / held - 1) < 0.1, `${counted.holdout} for ${held}`);
			assert.ok(Math.abs(counted.treated / (3000 - held) - 1) < 0.1, `${counted.treated}`);
			assert.deepEqual(await store.control.experimentReads(accountId, 'none'), { treated: 0, holdout: 0 });
		});

		test('the customer that a visitor has shown first is told, and when', async (t) => {
			const { store, writer, accountId } = await openAccountOn(engine);
			const atMs = Date.UTC(2026, 10, 1);
			const arrive = (days: number, cid: string | null) =>
				writer.storeHit(accountId, hit({ atMs: atMs + days * dayMs }, { cid }));
			const first = await arrive(0, 'ada');
			const second = await arrive(1, 'ada');
			const alone = await arrive(1, null);
			const reader = store.startReading();
			t.after(() => reader.close());
			const participant = (scope: 'vid' | 'sid', subject: string) =>
				reader.participant(accountId, scope, subject);
			const ada = (vid: string, days: number) => ({
				vid,
				customer: { cid: 'ada', atMs: atMs + days * dayMs },
			});
			assert.deepEqual(await participant('vid', first.vid), ada(first.vid, 0));
			assert.deepEqual(await participant('vid', second.vid), ada(second.vid, 1));
			assert.deepEqual(await participant('sid', second.sid), ada(second.vid, 1));
			assert.equal(await participant('vid', alone.vid), null);
			assert.deepEqual(await participant('sid', alone.sid), { vid: alone.vid, customer: null });
			assert.equal(await participant('sid', 'f'.repeat(32)), null);
		});
	});
}
