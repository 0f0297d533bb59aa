import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import type { MarkovBasis } from '../../../src/capabilities/reports/credit.ts';
import { eraseVisitor } from '../../../src/capabilities/visitors/store/erasure.ts';
import { dayMs, minuteMs } from '../../../src/core/durations.ts';
import type { Reading, Row } from '../../../src/core/store/steps.ts';
import type { OpenStore } from '../../../src/core/store/store.ts';
import { readJourneys } from '../../../src/kit/reports/read-journeys.ts';
import type { Report } from '../../../src/kit/reports/report.ts';
import type { ReportQuery } from '../../../src/kit/reports/report-query.ts';
import { engines, openFor } from '../../core/store/engines.ts';
import { body } from '../../core/store/made-hits.ts';
import { addLargeAccount } from '../../proof/large-account.ts';
import { examples } from '../../quick.ts';
import { allReports as definitions } from '../../reports.ts';
import { temporaryFolder } from '../../support.ts';
import { add, type Entry, fill, nowMs, report, sale, vidOf, visit } from './filled.ts';
import { day0Ms } from './made-up.ts';

const channels = ['email', 'direct', 'paid search', 'internal', 'social'];

const hit = fc
	.record({
		visitor: fc.integer({ min: 1, max: 5 }),
		minute: fc.integer({ min: 0, max: 200_000 }),
		channel: fc.constantFrom(...channels),
		tid: fc.option(fc.nat(7)),
		cid: fc.option(fc.nat(3)),
	})
	.map(
		({ visitor, minute, channel, tid, cid }): Entry => ({
			type: 'hit',
			vid: vidOf(visitor),
			sid: null,
			atMs: day0Ms + minute * minuteMs,
			body: body({
				channel,
				cid: cid === null ? null : `C-${cid}`,
				url: `https://shop.example/${minute}`,
				events: tid === null ? [] : [{ name: 'order', tid: `T-${tid}` }],
			}),
		}),
	);
const event = fc
	.record({
		tid: fc.nat(7),
		minute: fc.integer({ min: 0, max: 200_000 }),
		rvn: fc.integer({ min: -500, max: 2000 }),
	})
	.map(
		({ tid, minute, rvn }): Entry => ({
			type: 'event',
			tid: `T-${tid}`,
			subid: `S-${tid % 3}`,
			cid: tid % 4 === 0 ? `C-${tid % 4}` : null,
			evt: 'newsletter',
			rvn,
			receivedAtMs: day0Ms + minute * minuteMs,
		}),
	);
/** Each `tid` once, and no two things at the same time: else what comes first would depend on the order of arrival. */
const scripts = fc
	.uniqueArray(fc.oneof(hit, event), {
		minLength: 4,
		maxLength: 24,
		selector: (entry) => (entry.type === 'event' ? entry.tid : `${entry.atMs}`),
	})
	.map((entries) => [...new Map(entries.map((entry) => [momentOf(entry), entry])).values()]);

function momentOf(entry: Entry): number {
	return entry.type === 'hit' ? entry.atMs : entry.receivedAtMs;
}

async function allReports(store: OpenStore, id: number, fields: Partial<ReportQuery> = {}): Promise<string> {
	const all: Report[] = [];
	for (const { kind } of definitions) all.push(await report(store, id, kind, fields));
	return JSON.stringify(all);
}

const totalOf = ({ totals }: Report) => (totals as { netPence: number }).netPence;
const openBoth = (t: TestContext) =>
	Promise.all(engines.map(async (engine) => openFor(t, await engine.installedAddress(t))));

test('reports do not depend on the order of arrival or the engine, and as of a moment equal those of a store that ended then', async (t) => {
	const stores = await openBoth(t);
	let run = 0;
	await fc.assert(
		fc.asyncProperty(scripts, fc.integer({ min: 0, max: 200_000 }), async (script, minute) => {
			const untilMs = day0Ms + minute * minuteMs;
			const inOrder = script.toSorted((a, b) => momentOf(a) - momentOf(b));
			const ended = inOrder.filter((entry) => momentOf(entry) <= untilMs);
			const all: string[] = [];
			const then: string[] = [];
			for (const store of stores) {
				const whole = await fill(store, `c-a-whole-${run}`, script);
				const other = await fill(store, `c-a-other-${run}`, inOrder);
				const earlier = await fill(store, `c-a-earlier-${run}`, ended);
				all.push(await allReports(store, whole), await allReports(store, other));
				// What is known now needs no look at what was known then, and a period reads only what it needs.
				const live = await report(store, whole, 'attribution', { asOf: null, intervals: false });
				const period = { from: '2025-01-01', to: '2040-01-01', asOf: null, intervals: false };
				const ofPeriod = await report(store, whole, 'attribution', period);
				assert.deepEqual(ofPeriod.totals, live.totals);
				assert.deepEqual(
					live.totals,
					(await report(store, whole, 'attribution', { intervals: false })).totals,
				);
				then.push(
					await allReports(store, whole, { asOf: untilMs }),
					await allReports(store, earlier, { asOf: untilMs }),
				);
			}
			run++;
			assert.equal(new Set(all).size, 1, all.join('\n'));
			assert.equal(new Set(then).size, 1, then.join('\n'));
		}),
		{ numRuns: examples(4) },
	);
});

test('a report of a month reads only what it needs, and equals that part of the whole', async (t) => {
	for (const store of await openBoth(t)) {
		const entries = fc
			.sample(scripts, { numRuns: examples(3), seed: 7 })
			.flatMap((script, part) =>
				script.map(
					(entry): Entry =>
						entry.type === 'hit'
							? { ...entry, vid: `${part}${entry.vid.slice(1)}` }
							: { ...entry, tid: `${entry.tid}-${part}`, subid: `${entry.subid}-${part}` },
				),
			);
		const id = await fill(store, 'c-a-acme-uk', entries);
		for (const [from, to] of [
			['2026-02-01', '2026-03-01'],
			['2026-03-01', '2026-06-01'],
		] as const)
			for (const { kind } of definitions.filter(({ parameters }) => parameters.includes('from'))) {
				// As of a moment the whole is read.
				const { asOf: _, ...now } = await report(store, id, kind, {
					from,
					to,
					asOf: null,
					intervals: false,
				});
				const { asOf: __, ...then } = await report(store, id, kind, {
					from,
					to,
					asOf: store.now(),
					intervals: false,
				});
				assert.deepEqual(now, then, kind);
			}
	}
});

/** Counts the rows that steps are given. */
function* counted<Outcome>(steps: Reading<Outcome>): Reading<number> {
	let rows = 0;
	for (let step = steps.next(); !step.done; ) {
		const results = yield step.value.map((query) => {
			if (!('take' in query)) return query;
			const take = (page: readonly Row[]) => {
				rows += page.length;
				query.take(page);
			};
			return { ...query, take };
		});
		rows += results.reduce((sum, result) => sum + result.length, 0);
		step = steps.next(results);
	}
	return rows;
}

test('a report of a month reads no more rows if other months have more', async (t) => {
	const visitors = (first: number, count: number, day: number) =>
		Array.from({ length: count }, (_, n) => {
			const vid = String(first + n).padStart(32, '0');
			const tid = n % 2 ? null : `T-${first + n}`;
			const shown = { ...visit(1, day, tid), vid } as Entry;
			return [shown, ...(tid ? [sale(tid, `S-${first + n}`, day + 1, 500)] : [])];
		}).flat();
	for (const store of await openBoth(t)) {
		const id = await fill(store, 'c-a-acme-uk', visitors(1000, 6, 10));
		const period = { fromMs: day0Ms, toMs: day0Ms + 31 * dayMs };
		const read = { asOfMs: day0Ms + 400 * dayMs, isPast: false, period, lookbackDays: 90 };
		const rowsRead = () =>
			store.read(
				id,
				counted(
					readJourneys({
						...read,
						arrivalsBy: ['channel'],
						wanted: [],
						gateways: new Map(),
						paymentProviders: new Set(),
						cancellationEvt: null,
					}),
				),
			);
		const before = await rowsRead();
		await add(store, id, [...visitors(2000, 10, 100), ...visitors(3000, 10, 200)]);
		assert.equal(await rowsRead(), before);
	}
});

test('a visitor with a renewal of another visitor is not lost, in a report of all time as in one of a period', async (t) => {
	for (const store of await openBoth(t)) {
		const id = await fill(store, 'c-a-acme-uk', [
			...[visit(1, 10, 'A'), sale('A', 'S', 12, 500)],
			...[visit(2, 10, 'R', 'social'), sale('R', 'S', 40, 500)],
		]);
		for (const period of [{}, { from: '2026-01-01', to: '2026-12-01' }])
			for (const asOf of [null, nowMs]) {
				const model = ['markov'] as const;
				const { markov } = await report(store, id, 'attribution', { asOf, ...period, model });
				assert.equal((markov as MarkovBasis).lostPaths, 0);
			}
	}
});

test('erasing a visitor moves revenue to (none), and totals stay the same', async (t) => {
	for (const store of await openBoth(t)) {
		const paid = visit(1, 11, null, 'referral');
		const fromBank: Entry =
			paid.type === 'hit'
				? { ...paid, body: { ...paid.body, referrer: 'https://checkout.stripe.com/pay' } }
				: paid;
		const id = await fill(store, 'c-a-acme-uk', [
			...[
				visit(1, 10, 'A'),
				fromBank,
				sale('A', 'S', 12, 500),
				sale('A-2', 'S', 40, 500),
				sale('A-3', 'S', 50, -200),
			],
			...[visit(2, 10, 'B', 'social'), sale('B', 'S-2', 12, 300)],
		]);
		const before = await report(store, id, 'attribution', { asOf: null, model: ['last'] });
		const netOf = ({ rows }: Report) =>
			rows.map((row) => [row.channel, (row.models as { last: { netPence: number } }).last.netPence]);
		// The touch from where it was paid takes no credit, nor what came after the checkout.
		assert.deepEqual(netOf(before), [
			['email', 800],
			['social', 300],
		]);
		await eraseVisitor(store, id, vidOf(1));
		const after = await report(store, id, 'attribution', { asOf: null, model: ['last'] });
		assert.deepEqual(netOf(after), [
			['(none)', 800],
			['social', 300],
		]);
		assert.equal(totalOf(after), totalOf(before));
	}
});

test('a segment selects the subscriptions of visitors who are, or were, in it', async (t) => {
	for (const store of await openBoth(t)) {
		const id = await fill(store, 'c-a-acme-uk', [
			...[visit(1, 10, 'A'), sale('A', 'S', 12, 500), visit(1, 40, null, 'direct')],
			...[visit(2, 10, 'B', 'social'), sale('B', 'S-2', 12, 300), sale('C', 'S-3', 12, 700)],
		]);
		await store.control.createSegment(id, { id: 'back', name: 'Back', rule: 'visitor.visits >= 2' });
		const scored = { id: 'scored', name: 'Scored', rule: 'scores.subscription >= 0.0' };
		await store.control.createSegment(id, scored);
		const net = async (fields: Partial<ReportQuery>) =>
			totalOf(await report(store, id, 'attribution', { model: ['last'], intervals: false, ...fields }));
		assert.equal(await net({}), 1500);
		for (const asOf of [null, day0Ms + 41 * dayMs]) {
			assert.equal(await net({ segment: 'back', asOf }), 500);
			assert.equal(await net({ segment: 'scored', asOf }), 800, 'nobody knows whose the third is');
		}
		assert.equal(await net({ segment: 'back', asOf: day0Ms + 30 * dayMs }), 0);
		const { segment } = await report(store, id, 'ltv', { segment: 'back' });
		assert.equal(segment, 'back');
		await assert.rejects(net({ segment: 'unknown' }), /has no segment unknown/);
	}
});

test('the account of the proof has journeys', async (t) => {
	const folder = join(temporaryFolder(t), 'data');
	const { visitors, touches } = await addLargeAccount(folder, 300);
	assert.ok(touches > visitors);
	const store = await openFor(t, `sqlite:${folder}`);
	const { id } = await store.control.account('c-a-large');
	const { rows } = await report(store, id, 'attribution', { asOf: null });
	assert.ok(rows.length > 3);
});
