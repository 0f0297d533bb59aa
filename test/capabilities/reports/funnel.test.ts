import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HitRecord } from '../../../src/core/domain/stored-hit.ts';
import { dayMs } from '../../../src/core/durations.ts';
import { engines, enginesAboveContract, openFor } from '../../core/store/engines.ts';
import { type Entry, fill, report, sale, visit } from './filled.ts';
import { day0Ms } from './made-up.ts';

function on(
	visitor: number,
	day: number,
	page: string,
	fields: Partial<HitRecord> = {},
	tid?: string,
): Entry {
	const entry = visit(visitor, day, tid ?? null) as Entry & { type: 'hit' };
	return { ...entry, body: { ...entry.body, page, ...fields } };
}

for (const engine of engines)
	test(`of who saw a page, how many began to buy and paid, on ${engine.name}`, async (t) => {
		const store = await openFor(t, await engine.installedAddress(t));
		const id = await fill(store, 'c-a-acme-uk', [
			// Sees both pages, begins two days later, and is approved long after.
			...[on(1, 1, 'home'), on(1, 1.01, 'pricing', { channel: 'internal' })],
			...[on(1, 3, 'checkout', { channel: 'direct' }, 'T-1'), sale('T-1', 'S-1', 30, 500)],
			// Begins, and is never approved.
			...[on(2, 1, 'pricing', { device: 'mobile' }), on(2, 2, 'checkout', {}, 'T-2')],
			// Begins too late after pricing.
			...[on(3, 1, 'pricing'), on(3, 9, 'checkout', {}, 'T-3'), sale('T-3', 'S-3', 9.1, 500)],
			// Shows the sale of another visitor.
			...[on(4, 5, 'pricing', { channel: 'paid search' }), on(4, 5.1, 'checkout', {}, 'T-1')],
			// Whose days are not over on day 40.
			on(5, 38, 'pricing'),
		]);
		const asOf = day0Ms + 40 * dayMs;
		const rowsOf = async (fields: object) =>
			(await report(store, id, 'funnel', { asOf, ...fields })).rows.map(
				({ page, part, value, visitors, waiting, began, paid }) => [
					`${page} ${part} ${value}`.trim(),
					visitors,
					waiting,
					began,
					paid,
				],
			);
		const rows = await rowsOf({});
		const of = (name: string) => rows.find(([each]) => each === name)?.slice(1);
		assert.deepEqual(of('pricing all'), [4, 1, 3, 1]);
		assert.deepEqual(of('pricing channel email'), [3, 1, 2, 1], 'a page of the site is no arrival');
		assert.deepEqual(of('pricing channel paid search'), [1, 0, 1, 0]);
		assert.deepEqual(of('pricing device mobile'), [1, 0, 1, 0]);
		assert.deepEqual(of('home all'), [1, 0, 1, 1]);
		const longer = await rowsOf({ days: 9 });
		assert.deepEqual(longer.find(([name]) => name === 'pricing all')?.slice(1), [4, 1, 4, 2]);
		const early = await rowsOf({ asOf: day0Ms + 20 * dayMs });
		assert.deepEqual(early.find(([name]) => name === 'pricing all')?.slice(1), [4, 0, 3, 0]);
		const february = await rowsOf({ from: '2026-02-01' });
		assert.deepEqual(february.find(([name]) => name === 'pricing all')?.slice(1), [0, 1, 0, 0]);
		const made = await report(store, id, 'funnel', { asOf, top: 1 });
		assert.deepEqual([...new Set(made.rows.map(({ page }) => page))], ['pricing']);
		assert.match(made.notes?.join('\n') ?? '', /the 1 most seen of 3 pages/);
	});

for (const engine of enginesAboveContract)
	test(`nobody arrives from where it was paid, on ${engine.name}`, async (t) => {
		const store = await openFor(t, await engine.installedAddress(t));
		const id = await fill(store, 'c-a-paid', [
			on(1, 1, 'basket'),
			on(1, 1.01, 'thanks', { channel: 'referral', referrer: 'https://checkout.stripe.com/' }),
			on(2, 1, 'basket'),
			on(2, 1.01, 'thanks', { channel: 'referral', referrer: 'https://blog.example/' }),
		]);
		const { rows } = await report(store, id, 'funnel', { asOf: day0Ms + 40 * dayMs });
		const thanks = rows.filter(({ page, part }) => page === 'thanks' && part === 'channel');
		assert.deepEqual(
			thanks.map(({ value, visitors }) => [value, visitors]),
			[
				['email', 1],
				['referral', 1],
			],
		);
	});
