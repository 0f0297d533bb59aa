import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { DemoHit } from '../../../src/capabilities/demo/entry.ts';
import { shopPages } from '../../../src/capabilities/demo/shop.ts';
import { type DemoOptions, demoStream } from '../../../src/capabilities/demo/stream.ts';
import { isBot } from '../../../src/core/collect/device.ts';
import { pageOf } from '../../../src/core/collect/page-address.ts';
import { visitTimeoutMs } from '../../../src/core/domain/stored-hit.ts';
import { dayMs } from '../../../src/core/durations.ts';
import { hitCheck } from '../../../src/core/schema/hit-request.ts';
import { eventCheck } from '../../../src/core/schema/subscription-request.ts';
import { examples } from '../../quick.ts';

const shop = 'http://127.0.0.1:8080/demo/';
const year2026 = Date.UTC(2026, 0, 1);

const options: fc.Arbitrary<DemoOptions> = fc.record({
	seed: fc.nat(2 ** 31),
	visitors: fc.integer({ min: 1, max: 200 }),
	days: fc.integer({ min: 1, max: 400 }),
	untilMs: fc.integer({ min: year2026, max: year2026 + 1000 * dayMs }),
	shop: fc.constant(shop),
});

test('the same options give the same history, and another seed another', () => {
	fc.assert(
		fc.property(options, (given) => {
			const history = JSON.stringify(demoStream(given));
			assert.equal(JSON.stringify(demoStream(given)), history);
			assert.notEqual(JSON.stringify(demoStream({ ...given, seed: given.seed + 1 })), history);
		}),
		{ numRuns: examples(20) },
	);
});

test('times are within the days and in order, and every visitor occurs', () => {
	fc.assert(
		fc.property(options, (given) => {
			const entries = demoStream(given);
			const times = entries.map(({ atMs }) => atMs);
			assert.ok(times.every(Number.isSafeInteger));
			assert.ok(times.every((atMs) => atMs >= given.untilMs - given.days * dayMs && atMs <= given.untilMs));
			assert.deepEqual(
				times,
				times.toSorted((a, b) => a - b),
			);
			assert.equal(new Set(entries.map(({ visitor }) => visitor)).size, given.visitors);
		}),
		{ numRuns: examples(30) },
	);
});

test('the live service would accept every entry', () => {
	const pages = new Set(Object.values(shopPages).map(({ path }) => pageOf(shop + path)));
	for (const entry of demoStream({ seed: 1, visitors: 2000, days: 60, untilMs: year2026, shop })) {
		if (entry.type === 'subscription') {
			assert.ok(eventCheck(entry.event), JSON.stringify(entry));
		} else {
			assert.ok(hitCheck({ aid: 'c-a-demo-local', ...entry.fields }), JSON.stringify(entry));
			assert.ok(pages.has(pageOf(entry.fields.url)), entry.fields.url);
			assert.ok(!isBot(entry.userAgent), entry.userAgent);
		}
	}
});

test('a visit ends where the live service would end it', () => {
	const last = new Map<number, DemoHit>();
	for (const entry of demoStream({ seed: 2, visitors: 2000, days: 60, untilMs: year2026, shop })) {
		if (entry.type !== 'hit') continue;
		const before = last.get(entry.visitor);
		if (before) assert.equal(entry.visit - before.visit, entry.atMs - before.atMs < visitTimeoutMs ? 0 : 1);
		last.set(entry.visitor, entry);
	}
});

test('a tid belongs to one sale, and two histories have none in common', () => {
	const tidsUntil = (untilMs: number) =>
		demoStream({ seed: 1, visitors: 1000, days: 60, untilMs, shop }).flatMap((entry) =>
			entry.type === 'subscription' ? [entry.event.tid] : [],
		);
	const [tids, later] = [tidsUntil(year2026), tidsUntil(year2026 + 1)];
	assert.ok(tids.length > 20);
	assert.equal(new Set([...tids, ...later]).size, tids.length + later.length);
});

test('visitors come by day, and on Fridays, when the newsletter is sent', () => {
	const arrivals = demoStream({ seed: 1, visitors: 5000, days: 70, untilMs: year2026, shop })
		.filter((entry) => entry.type === 'hit')
		.map(({ atMs }) => new Date(atMs));
	const byHour = (hour: number) => arrivals.filter((date) => date.getUTCHours() === hour).length;
	const byDay = (day: number) => arrivals.filter((date) => date.getUTCDay() === day).length;
	assert.ok(byHour(20) > 5 * byHour(3));
	assert.ok(byDay(5) > byDay(3));
});
