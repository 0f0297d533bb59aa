import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DemoEntry } from '../../../src/capabilities/demo/entry.ts';
import { demoStream } from '../../../src/capabilities/demo/stream.ts';
import { train } from '../../../src/capabilities/training/judge/train.ts';
import { DatasetBuilder } from '../../../src/capabilities/training/rows/dataset.ts';
import { arrivalOf } from '../../../src/core/collect/channels.ts';
import { pageOf } from '../../../src/core/collect/page-address.ts';
import { visitorFacts } from '../../../src/core/domain/facts.ts';
import { apply, type LogEntry, type Profile } from '../../../src/core/domain/profile.ts';
import { dayMs } from '../../../src/core/durations.ts';
import { featureSet } from '../../../src/core/scoring/rows/features.ts';

const horizonMs = 7 * dayMs;
const untilMs = Date.UTC(2026, 10, 21);

function logEntry(entry: DemoEntry): LogEntry {
	if (entry.type === 'subscription') {
		const { tid, subid, evt, rvn: revenuePence } = entry.event;
		return { type: 'subscription', atMs: entry.atMs, tid, subid, evt, revenuePence };
	}
	return {
		type: 'hit',
		atMs: entry.atMs,
		sid: String(entry.visit),
		page: pageOf(entry.fields.url),
		channel: arrivalOf(entry.fields).channel,
		device: '',
		events: entry.fields.events.map(({ name }) => name),
		tieBreak: '',
	};
}

/** Visitors as of the end of each visit, without those who have ordered already. */
function* undecided(entries: readonly DemoEntry[]) {
	for (const [visitor, log] of Map.groupBy(entries, (entry) => entry.visitor)) {
		const sale = log.find(({ type }) => type === 'subscription');
		let profile: Profile | null = null;
		for (const [index, entry] of log.entries()) {
			profile = apply(profile, logEntry(entry));
			const next = log[index + 1];
			if (entry.type !== 'hit' || (next?.type === 'hit' && next.visit === entry.visit)) continue;
			const facts = visitorFacts(profile, entry.atMs);
			if (facts.events.has('checkout-started') || profile.subscriptions) break;
			if (entry.atMs > untilMs - horizonMs) break;
			const isSold = sale !== undefined && sale.atMs <= entry.atMs + horizonMs;
			yield { facts, atMs: entry.atMs, label: isSold ? (1 as const) : (0 as const), group: String(visitor) };
		}
	}
}

test("visitors' actions predict who will subscribe: a model ranks them well, but not perfectly", () => {
	const entries = demoStream({ seed: 1, visitors: 5000, days: 60, untilMs, shop: 'https://shop.example/' });
	const dataset = new DatasetBuilder(
		featureSet(['visits', 'plansViewed', 'recentHits', 'baskets'], ['channel']),
	);
	for (const { facts, ...row } of undecided(entries)) {
		const events = ['plans-viewed', 'add-to-basket'].map((name) => facts.events.get(name) ?? 0);
		dataset.add({
			...row,
			numeric: [facts.visits, events[0] as number, facts.recentHits7d, events[1] as number],
			categorical: [facts.lastChannel],
		});
	}
	const { report } = train(dataset.build(), { seed: 1, horizonMs });
	const auc = report.later?.auc.value ?? 0;
	assert.ok(auc > 0.74 && auc < 0.9, `AUC on later visits: ${auc}`);
});
