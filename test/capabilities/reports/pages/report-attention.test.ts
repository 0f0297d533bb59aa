import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dayMs } from '../../../../src/core/durations.ts';
import { consoleHere } from '../../../assembly/console/here.ts';
import {
	enginesAboveContract,
	startWritingFor,
	subscriptionEvent,
	upload,
} from '../../../core/store/engines.ts';
import { hit } from '../../../core/store/made-hits.ts';

const path = '/console/c-a-one/';

for (const engine of enginesAboveContract)
	test(`the overview says what needs attention, and what to do, on ${engine.name}`, async (t) => {
		const { person, store, clock, errors, directory } = await consoleHere(t, engine, { makesReports: true });
		const { id, client } = await store.control.account('c-a-one');
		const olga = await person('olga@example.com', [{ aid: null, role: 'operator' }]);
		const victor = await person('victor@example.com', [{ aid: 'c-a-one', role: 'viewer' }]);
		const told = async (who: typeof olga) => {
			await directory.refresh();
			// Figures are kept for a while.
			clock.monotonicMs += 60_000;
			const { body } = await who.whole(path);
			return body.split('aria-label="Needs attention"')[1]?.split('</section>')[0] ?? '';
		};
		const empty = await told(olga);
		assert.match(empty, /No API key/);
		assert.doesNotMatch(await told(victor), /No API key|settings/);

		const writer = await startWritingFor(t, store);
		await store.control.issueKey(client, 'standard', { name: 'billing', expiresInMs: 3 * dayMs });
		await store.control.createSegment(id, { id: 'broken', name: 'Broken', rule: 'visitor.unknown > 1' });
		await writer.storeHit(id, hit({ atMs: clock.now - 2 * dayMs }));
		const events = Array.from({ length: 25 }, () => subscriptionEvent());
		await upload(writer, id, events.slice(0, 25), { atMs: clock.now - 8 * dayMs });
		const later = await told(olga);
		for (const part of [
			'The last hit came on 2026-11-19 10:00:00',
			'The last subscription event came on 2026-11-13 10:00:00',
			'billing</bdi> expires on 2026-11-24',
			'The rule of the segment <bdi>broken</bdi> is not valid any more',
			'100.0 % of the period',
		])
			assert.ok(later.includes(part), part);

		await writer.storeHit(id, hit({ atMs: clock.now - 1000 }));
		await upload(writer, id, [subscriptionEvent()], { atMs: clock.now - 1000 });
		await store.control.deleteSegment(id, 'broken');
		await store.control.issueKey(client, 'standard', { name: 'lasting' });
		assert.doesNotMatch(await told(olga), /The last|broken|No API key/);
		assert.deepEqual(errors, []);
	});

for (const engine of enginesAboveContract)
	test(`a change that rounds to nothing is no gain, on ${engine.name}`, async (t) => {
		const { person, store, clock } = await consoleHere(t, engine, { makesReports: true });
		const { id } = await store.control.account('c-a-one');
		const writer = await startWritingFor(t, store);
		for (const [days, rvn] of [
			[2, 100_010],
			[30, 100_000],
		] as const)
			await upload(writer, id, [subscriptionEvent({ rvn })], { atMs: clock.now - days * dayMs });
		const ada = await person('ada@example.com', [{ aid: null, role: 'viewer' }]);
		const { body } = await ada.whole(path);
		assert.match(
			body,
			/£1,000\.10<\/span> <span class="change ">±0 %<\/span> <span class="change">from £1,000\.00</,
		);
	});
