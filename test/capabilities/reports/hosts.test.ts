import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HitRecord } from '../../../src/core/domain/stored-hit.ts';
import { enginesAboveContract, openFor } from '../../core/store/engines.ts';
import { type Entry, fill, report, sale, visit } from './filled.ts';

function on(visitor: number, day: number, url: string, fields: Partial<HitRecord> = {}, tid?: string): Entry {
	const entry = visit(visitor, day, tid ?? null) as Entry & { type: 'hit' };
	return { ...entry, body: { ...entry.body, url: `https://${url}/`, ...fields } };
}

for (const engine of enginesAboveContract)
	test(`what begins on each host, and who is lost between hosts, on ${engine.name}`, async (t) => {
		const store = await openFor(t, await engine.installedAddress(t));
		const fromShop = { referrer: 'https://www.shop.example/basket' };
		const id = await fill(store, 'c-a-acme-uk', [
			on(1, 1, 'www.shop.example', { referrer: 'https://search.example/' }),
			// The same browser, on a host that does not share its cookie.
			on(2, 1.01, 'pay-shop.example', fromShop, 'T-1'),
			sale('T-1', 'S-1', 1.02, 500),
			// Back on the shop, which knows it.
			on(1, 1.03, 'shop.example', { referrer: 'https://pay-shop.example/' }),
			// A browser whose cookie is shared.
			on(3, 2, 'shop.example', {}, 'T-3'),
			on(3, 2.01, 'checkout.shop.example', fromShop, 'T-2'),
			sale('T-2', 'S-2', 2.02, 500),
			sale('T-4', 'S-4', 2.02, 500),
			// Somebody who came by another shop's page.
			on(4, 40, 'pay-shop.example', { referrer: 'https://other.example/' }),
		]);
		const all = await report(store, id, 'hosts');
		const none = { visitorsFromOwnHosts: 0, sales: 0, joinedSales: 0, salesFromOwnHosts: 0 };
		assert.deepEqual(all.rows, [
			{ host: 'shop.example', ...none, visitors: 2, visits: 3 },
			{
				host: 'pay-shop.example',
				visitors: 2,
				visits: 2,
				visitorsFromOwnHosts: 1,
				sales: 1,
				joinedSales: 1,
				salesFromOwnHosts: 1,
			},
			{ host: 'checkout.shop.example', ...none, visitors: 0, visits: 0, sales: 1, joinedSales: 1 },
		]);
		assert.match(String(all.warnings), /^1 visitor came from one host of the account to another/);
		const february = await report(store, id, 'hosts', { from: '2026-02-01', to: '2026-03-01' });
		assert.deepEqual(february.rows, [{ host: 'pay-shop.example', ...none, visitors: 1, visits: 1 }]);
		assert.deepEqual(february.warnings, []);
	});
