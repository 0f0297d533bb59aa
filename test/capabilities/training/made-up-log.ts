import { storeHistory } from '../../../src/capabilities/history/store/past-history.ts';
import type { HitRecord } from '../../../src/core/domain/stored-hit.ts';
import type { SubscriptionEvent } from '../../../src/core/domain/subscription-event.ts';
import { dayMs, hourMs } from '../../../src/core/durations.ts';
import type { OpenStore } from '../../../src/core/store/store.ts';
import { seededRandom } from '../../../src/kit/random.ts';

export interface MadeUpVisitor {
	readonly vid: string;
	readonly hits: readonly { readonly sid: string; readonly atMs: number; readonly body: HitRecord }[];
	readonly events: readonly (SubscriptionEvent & { readonly receivedAtMs: number })[];
}

export const logEndMs = Date.UTC(2026, 10, 21);
const pages = ['/', 'blog', 'features', 'docs', 'about', 'contact'];
const channels = ['direct', 'organic', 'paid', 'email', 'social'];

/**
 * Generates a visitor of the last 60 days, always the same for a seed and number. Keen visitors return, view prices, and
 * sometimes start a sale that is uploaded a few hours later.
 */
export function madeUpVisitor(seed: number, number: number): MadeUpVisitor {
	const random = seededRandom(Math.imul(seed, 0x9e3779b1) ^ Math.imul(number + 1, 0x85ebca6b));
	const id = () => Array.from({ length: 4 }, () => hex(random())).join('');
	const pick = (names: readonly string[]) => names[Math.floor(random() * names.length)] as string;
	const vid = id();
	const keen = random() < 0.25;
	const device = random() < 0.4 ? 'mobile' : 'desktop';
	const hits: MadeUpVisitor['hits'][number][] = [];
	const events: MadeUpVisitor['events'][number][] = [];
	let atMs = logEndMs - Math.floor(random() * 60 * dayMs);
	for (let goesOn = true; goesOn && atMs < logEndMs; goesOn = random() < (keen ? 0.6 : 0.2)) {
		const sid = id();
		const channel = keen && random() < 0.5 ? 'email' : pick(channels);
		for (let stays = true; stays && atMs < logEndMs; stays = random() < (keen ? 0.7 : 0.4)) {
			const page = random() < (keen ? 0.4 : 0.05) ? 'pricing' : pick(pages);
			const buys = page === 'pricing' && random() < 0.15;
			const tid = `T-${vid.slice(0, 12)}-${hits.length}`;
			const body: HitRecord = {
				page,
				url: `https://shop.example/${page}`,
				referrer: null,
				title: page,
				device,
				channel,
				events: buys ? [{ name: 'begin', tid }] : random() < 0.1 ? [{ name: 'video' }] : [],
				cid: null,
			};
			hits.push({ sid, atMs, body });
			if (buys && atMs + 8 * hourMs < logEndMs) {
				const receivedAtMs = atMs + Math.floor(random() * 8 * hourMs) + 1;
				events.push({ tid, subid: tid, cid: null, evt: 'membership', rvn: 999, receivedAtMs });
			}
			atMs += 10_000 + Math.floor(random() * 240_000);
		}
		atMs += Math.floor((0.2 + random() * (keen ? 4 : 12)) * dayMs);
	}
	return { vid, hits, events };
}

function hex(share: number): string {
	return Math.floor(share * 2 ** 32)
		.toString(16)
		.padStart(8, '0');
}

export function madeUpVisitors(count: number, seed = 1): MadeUpVisitor[] {
	return Array.from({ length: count }, (_, number) => madeUpVisitor(seed, number));
}

/** Stores visitors' logs with their times, like an import. */
export async function storeVisitors(
	store: OpenStore,
	accountId: number,
	visitors: readonly MadeUpVisitor[],
): Promise<void> {
	for (let from = 0; from < visitors.length; from += 250) {
		const some = visitors.slice(from, from + 250);
		const hits = some.flatMap(({ vid, hits }) => hits.map((hit) => ({ ...hit, vid })));
		await store.transact(accountId, () =>
			storeHistory(
				hits,
				some.flatMap(({ events }) => events),
			),
		);
	}
}
