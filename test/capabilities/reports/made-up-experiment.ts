import type { Experiment } from '../../../src/capabilities/experiments/store/experiment.ts';
import { type HistoryEvent, storeHistory } from '../../../src/capabilities/history/store/past-history.ts';
import type { HistoryHit } from '../../../src/core/domain/stored-hit.ts';
import { dayMs, hourMs } from '../../../src/core/durations.ts';
import { foldAll } from '../../../src/core/store/fold-all.ts';
import type { Store } from '../../../src/core/store/store.ts';
import { seededRandom } from '../../../src/kit/random.ts';
import { body } from '../../core/store/made-hits.ts';

export const fromMs = Date.UTC(2026, 8, 1);
export const toMs = fromMs + 40 * dayMs;
export const asOf = toMs + 5 * dayMs;
const rule = 'visitor.events["plans-viewed"] >= 2';
export const vidOf = (number: number) => number.toString(16).padStart(32, '0');

export interface Life {
	readonly vid: string;
	readonly hits: HistoryHit[];
	readonly events: HistoryEvent[];
}

/** A view of the plans. */
export function view(vid: string, atMs: number, fields: Parameters<typeof body>[0] = {}): HistoryHit {
	return { vid, sid: null, atMs, body: body({ events: [{ name: 'plans-viewed' }], ...fields }) };
}

export function paid(tid: string, subid: string, atMs: number, rvn: number): HistoryEvent {
	return { tid, subid, cid: null, evt: 'newsletter', rvn, receivedAtMs: atMs };
}

/** Visitors who look at the plans, some before the experiment, and some of whom subscribe, renew and are refunded. */
export function madeUp(visitors: number): Life[] {
	const random = seededRandom(9);
	return Array.from({ length: visitors }, (_, number) => {
		const vid = vidOf(number + 1);
		let atMs = fromMs - 10 * dayMs + Math.floor(random() * 55 * dayMs);
		const hits: HistoryHit[] = [];
		const events: HistoryEvent[] = [];
		const channel = random() < 0.6 ? 'email' : 'direct';
		for (let views = 0; views < 3 && random() < 0.85; views++) {
			hits.push(view(vid, atMs, { channel, device: number % 3 ? 'mobile' : 'desktop' }));
			atMs += Math.floor(hourMs + random() * 4 * dayMs);
		}
		if (hits.length > 0 && random() < 0.5) {
			const boughtMs = (hits.at(-1) as HistoryHit).atMs + Math.floor(random() * 9 * dayMs);
			const tid = `T-${number}`;
			hits.push({
				vid,
				sid: null,
				atMs: boughtMs,
				body: body({ channel, events: [{ name: 'order', tid }] }),
			});
			const pence = 100 + Math.floor(random() * 5000);
			events.push(paid(tid, tid, boughtMs + hourMs, pence));
			if (random() < 0.4) events.push(paid(`${tid}-2`, tid, boughtMs + 10 * dayMs, pence));
			if (random() < 0.3) events.push(paid(`${tid}-r`, tid, boughtMs + 12 * dayMs, -pence));
		}
		return { vid, hits, events };
	});
}

/** Stores them, in a log that goes on. */
export async function storeLives(store: Store, id: number, lives: readonly Life[]): Promise<void> {
	const hits = lives.flatMap((life) => life.hits);
	const events = lives.flatMap((life) => life.events).toSorted((a, b) => a.receivedAtMs - b.receivedAtMs);
	// The log goes on.
	hits.push({ vid: 'f'.repeat(32), sid: null, atMs: asOf - hourMs, body: body({}) });
	for (let from = 0; from < hits.length; from += 500)
		await store.transact(id, () => storeHistory(hits.slice(from, from + 500), []));
	for (let from = 0; from < events.length; from += 500)
		await store.transact(id, () => storeHistory([], events.slice(from, from + 500)));
	await foldAll(store, id);
}

/** Adds the experiment that they are in. */
export function begin({ control }: Store, id: number, fields: Partial<Experiment> = {}): Promise<Experiment> {
	return control.createExperiment(id, {
		name: 'offer',
		segment: 'considering',
		rule,
		goal: 'subscription',
		holdoutPercent: 50,
		fromMs,
		toMs,
		...fields,
	});
}
