import assert from 'node:assert/strict';
import { test } from 'node:test';
import { insertMessages, saveAttempts } from '../../../../src/capabilities/webhooks/store/outbox.ts';
import { dayMs } from '../../../../src/core/durations.ts';
import { enginesAboveContract, startServingFor } from '../../../core/store/engines.ts';
import { caskade, caskadeJson } from '../../../process.ts';
import { add, sale, vidOf, visit } from '../../reports/filled.ts';
import { day0Ms } from '../../reports/made-up.ts';

const day = (days: number) => new Date(day0Ms + days * dayMs).toISOString();
const vid = vidOf(1);

type Entries = readonly Readonly<Record<string, unknown>>[];

/** What is different from kind to kind, in a line. */
function lines(timeline: Entries): string[] {
	return timeline.map(({ at, what, ...entry }) => {
		const { channel, shares, told: said, messages, hits, evt, revenuePence, state, subid } = entry;
		const segment = what === 'segment' && `${entry.isIn ? 'entered' : 'left'} ${entry.segment}`;
		const fields = {
			segment: segment || null,
			channel,
			shares,
			said,
			messages,
			hits,
			evt,
			revenuePence,
			state,
			subid,
		};
		const told = Object.values(fields).filter((value) => value !== undefined && value !== null);
		const words = told.map((value) => (typeof value === 'object' ? JSON.stringify(value) : value));
		return [`day ${(Date.parse(String(at)) - day0Ms) / dayMs}`, what, ...words].join(' ');
	});
}

for (const engine of enginesAboveContract)
	test(`a subscription and its visitor are shown as one timeline, on ${engine.name}`, async (t) => {
		const { store, accountId, aid, address } = await startServingFor(t, engine);
		await add(store, accountId, [
			visit(1, 0, null, 'social'),
			visit(1, 7, 'T-1', 'email'),
			sale('T-1', 'S-1', 7, 500),
			sale('T-2', 'S-1', 37, 600),
			sale('T-3', 'S-1', 40, -600),
			visit(1, 39, null, 'direct'),
			visit(2, 8, 'T-4', 'email'),
			sale('T-4', 'S-2', 8, 900),
		]);
		const message = (webhook: string, sequence: number, type: 'segment.left' | 'score.band.changed') => ({
			webhook,
			sequence,
			type,
			vid,
			body: JSON.stringify({
				type,
				timestamp: day(38 + sequence),
				data: {
					aid,
					vid,
					cid: 'C-secret',
					sequence,
					...(type === 'segment.left' ? { segment: 'keen', name: 'Keen' } : { goal: 'return', band: 'high' }),
				},
			}),
		});
		const messages = [
			message('wh_1', 3, 'score.band.changed'),
			message('wh_1', 4, 'segment.left'),
			message('wh_2', 4, 'segment.left'),
		];
		await store.transact(accountId, function* () {
			yield [insertMessages(messages, day0Ms + 43 * dayMs)];
			const delivered = { atMs: day0Ms + 43 * dayMs, status: 200, problem: null, dueAtMs: null };
			return yield* saveAttempts([{ webhook: 'wh_1', sequence: 4, ...delivered }]);
		});
		const at = ['--database', address];
		const show = async (...command: string[]) =>
			((await caskadeJson([...command, ...at])) as { timeline: Entries }).timeline;

		const shares = (first: number, last: number, decay: number) =>
			JSON.stringify({ first, last, 'last-non-direct': last, linear: 0.5, decay, position: 0.5 });
		const all = await show('subscription', 'show', aid, 'S-1');
		const told = lines(all);
		assert.deepEqual(told, [
			'day 0 visit social 1',
			`day 0 touch social ${shares(1, 0, 0.3333)} S-1`,
			'day 0 segment entered new',
			'day 7 visit email 1',
			`day 7 touch email ${shares(0, 1, 0.6667)} S-1`,
			'day 7 acquisition newsletter 500 active S-1',
			'day 7 segment left new',
			'day 7 segment entered returning',
			'day 7 segment entered subscriber',
			'day 37 renewal newsletter 600 active S-1',
			'day 39 visit direct 1',
			'day 39 touch direct',
			'day 39 segment entered engaged',
			'day 40 refund newsletter -600 ended S-1',
			'day 40 segment left subscriber',
			'day 40 segment entered subscribed-before',
			'day 41 score.band.changed {"goal":"return","band":"high"} [{"webhook":"wh_1","deliveredAt":null}]',
			`day 42 segment.left {"segment":"keen","name":"Keen"} [{"webhook":"wh_1","deliveredAt":"${day(43)}"},{"webhook":"wh_2","deliveredAt":null}]`,
		]);
		assert.deepEqual(await show('visitor', 'show', aid, vid), all);
		assert.deepEqual(
			lines(await show('subscription', 'show', aid, 'S-1', '--as-of', day(38.5))),
			told.slice(0, 10),
		);

		await caskade(['account', 'update', aid, '--renewal-days', 'newsletter=30', ...at]);
		assert.deepEqual(lines(await show('subscription', 'show', aid, 'S-2')).slice(-3), [
			'day 38 ended ended S-2',
			// Half a month was left to renew it.
			'day 53 segment left subscriber',
			'day 53 segment entered subscribed-before',
		]);

		const { stdout } = await caskade(['subscription', 'show', aid, 'S-1', ...at]);
		assert.match(stdout, / touch +email to pricing +- +- +- +0\.0 % +100\.0 % +100\.0 % +50\.0 % +66\.7 %/);
		assert.match(stdout, / refund +newsletter +−£6\.00 +ended +£0\.00 /);
		assert.match(
			stdout,
			/ segment\.left +keen Keen, sent to wh_1 at 2026-02-13T00:00:00\.000Z, wh_2 not delivered /,
		);
		assert.match(stdout, / segment +left New visitors /);
		assert.doesNotMatch(stdout, /C-secret|S-2/);
		assert.match(
			(await caskade(['visitor', 'show', aid, vid, ...at])).stdout,
			/ renewal +S-1 +newsletter +£6/,
		);
	});
