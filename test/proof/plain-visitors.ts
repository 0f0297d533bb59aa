import { noGateways } from '../../src/core/domain/mail-gateways.ts';
import type { SubscriptionEntry } from '../../src/core/domain/profile.ts';
import { noCadences } from '../../src/core/domain/subscription-cadence.ts';
import { hashOfText, seededRandom } from '../../src/kit/random.ts';
import type { AccountHistory } from '../../src/kit/reading/histories.ts';

/** A visitor's log as in an import. Visits are numbered. */
export interface PlainVisitor {
	readonly hits: readonly {
		readonly atMs: number;
		readonly visit: number;
		readonly page?: string;
		readonly channel?: string;
		readonly events?: readonly string[];
	}[];
	readonly sales?: readonly { readonly atMs: number; readonly evt: string; readonly pence: number }[];
}

/** Serves histories from memory like an account's database. */
export function readerOf(visitors: readonly PlainVisitor[]): AccountHistory {
	const all = new Map(
		visitors
			.map((visitor, number) => [vidOf(number), historyOf(visitor, number)] as const)
			.sort(([a], [b]) => (a < b ? -1 : 1)),
	);
	const vids = [...all.keys()];
	const hits = [...all.values()]
		.flatMap(({ vid, hits: ofVisitor }) => ofVisitor.map(({ atMs }) => ({ vid, atMs })))
		.sort((a, b) => a.atMs - b.atMs);
	const hitsUntil = (atMs: number) => {
		let [low, high] = [0, hits.length];
		while (low < high) {
			const middle = (low + high) >>> 1;
			if ((hits[middle]?.atMs ?? 0) <= atMs) low = middle + 1;
			else high = middle;
		}
		return low;
	};
	return {
		cadences: async () => noCadences,
		gateways: async () => noGateways,
		cancellationEvt: null,
		historyExtent: async (asOfMs) => {
			let toMs = hits[hitsUntil(asOfMs) - 1]?.atMs ?? Number.NEGATIVE_INFINITY;
			let uploads = 0;
			for (const { events } of all.values())
				for (const { entry } of events) {
					if (entry.atMs > asOfMs) continue;
					uploads++;
					toMs = Math.max(toMs, entry.atMs);
				}
			return { hits: hitsUntil(asOfMs), uploads, fromMs: hits[0]?.atMs ?? Number.POSITIVE_INFINITY, toMs };
		},
		vidsAfter: async (vid, limit) => {
			const from = vids.findIndex((other) => other > vid);
			return from < 0 ? [] : vids.slice(from, from + limit);
		},
		firstHits: async (some, asOfMs) =>
			some.flatMap((vid) => {
				const first = all.get(vid)?.hits[0];
				return first && first.atMs <= asOfMs ? [{ vid, atMs: first.atMs, body: first.tieBreak }] : [];
			}),
		hitsBefore: async (atMs, limit) =>
			hits.slice(Math.max(0, hitsUntil(atMs) - limit), hitsUntil(atMs)).reverse(),
		visitorHistories: async (some, asOfMs) =>
			some.flatMap((vid) => {
				const history = all.get(vid);
				if (!history || (history.hits[0]?.atMs ?? Number.POSITIVE_INFINITY) > asOfMs) return [];
				return [
					{
						vid,
						hits: history.hits.filter((hit) => hit.atMs <= asOfMs),
						events: history.events.filter(({ entry }) => entry.atMs <= asOfMs),
					},
				];
			}),
	};
}

/** A `vid` that looks random, as real ones do. */
function vidOf(number: number): string {
	const random = seededRandom(hashOfText(`visitor ${number}`));
	return Array.from({ length: 4 }, () =>
		Math.floor(random() * 2 ** 32)
			.toString(16)
			.padStart(8, '0'),
	).join('');
}

function historyOf({ hits, sales = [] }: PlainVisitor, number: number) {
	const vid = vidOf(number);
	return {
		vid,
		hits: hits.map(({ atMs, visit, page = '/', channel = 'direct', events = [] }) => ({
			type: 'hit' as const,
			atMs,
			sid: `${vid.slice(0, 20)}${visit}`,
			page,
			channel,
			device: 'desktop',
			events,
			tieBreak: `${number} ${page} ${channel}`,
		})),
		events: sales.map(({ atMs, evt, pence }, index) => {
			const entry: SubscriptionEntry = {
				type: 'subscription',
				atMs,
				tid: `${number}-${index}`,
				subid: `${number}`,
				evt,
				revenuePence: pence,
			};
			return { entry, knownFromMs: atMs, knownUntilMs: Number.POSITIVE_INFINITY };
		}),
	};
}
