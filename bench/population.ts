import type { HitRecord } from '../src/domain/hit.ts';
import { type HitEntry, type LogEntry, profileOf } from '../src/domain/profile.ts';
import { seededRandom } from '../src/scoring/random.ts';

/**
 * Made-up visitors, to be multiplied: a place copies each template many times over, with a `vid` of its own in place
 * of `stem`. Their profiles are what the service's own reducer makes of their hits.
 */
export interface Template {
	/** JSON, as it is stored. */
	readonly profile: string;
	readonly visits: readonly { readonly sid: string; readonly profile: string }[];
	readonly hits: readonly { readonly sid: string; readonly atMs: number; readonly body: string }[];
}

/** Stands for the first 30 digits of a `vid`, with which its `sid`s begin too. */
export const stem = '0'.repeat(30);
/** Stands for the visitor's customer id, which the first hit shows. */
export const customer = 'cust-#######';

/** Few enough to be made at once, many enough to differ as visitors do. */
const templateCount = 2000;
const dayMs = 86_400_000;
const hourMs = 3_600_000;

const channels = ['direct', 'organic', 'paid', 'email', 'social', 'referral'];
const devices = ['desktop', 'mobile', 'mobile', 'tablet'];
const eventNames = ['scroll', 'video', 'add-to-basket', 'checkout', 'newsletter', 'search', 'share', 'login'];

/** The same on every run, but for the time that they end at. */
export function makeTemplates(nowMs: number): Template[] {
	const random = seededRandom(7);
	return Array.from({ length: templateCount }, () => makeTemplate(random, nowMs));
}

/** 1 or more, `mean` on average, many small and few large. */
function geometric(random: () => number, mean: number): number {
	return 1 + Math.floor(Math.log(1 - random()) / Math.log(1 - 1 / mean));
}

function pick<Item>(random: () => number, items: readonly Item[]): Item {
	return items[Math.floor(random() * items.length)] as Item;
}

/** 1.8 visits on average, days apart, 3 hits each; every fifth hit fires an event, one visitor of twenty has subscribed. */
function makeTemplate(random: () => number, nowMs: number): Template {
	const hits: { entry: HitEntry; body: HitRecord }[] = [];
	const device = pick(random, devices);
	let atMs = Math.floor(nowMs - hourMs - random() * 30 * dayMs);
	const visitCount = Math.min(40, geometric(random, 1.8));
	for (let visit = visitCount; visit > 0; visit--) {
		const sid = stem + visit.toString(16).padStart(2, '0');
		const channel = pick(random, channels);
		let hitAtMs = atMs;
		for (let hit = geometric(random, 3); hit > 0; hit--) {
			const body = makeBody(random, { channel, device, isFirst: hits.length === 0 });
			const events = body.events.map(({ name }) => name);
			const { page } = body;
			hits.push({
				entry: { type: 'hit', atMs: hitAtMs, sid, page, channel, device, events, tieBreak: '' },
				body,
			});
			hitAtMs += Math.ceil(random() * 180_000);
		}
		// The one before it.
		atMs -= Math.ceil((1 + random() * 10) * dayMs);
	}
	const entries: LogEntry[] = hits.map(({ entry }) => entry);
	if (random() < 0.05)
		entries.push({
			...{ type: 'subscription', atMs: nowMs - hourMs / 2, tid: 'order-1', subid: 'sub-1' },
			...{ evt: 'newsletter', revenuePence: 499 },
		});
	const sids = [...new Set(hits.map(({ entry }) => entry.sid))];
	return {
		profile: JSON.stringify(profileOf(entries)),
		visits: sids.map((sid) => ({
			sid,
			profile: JSON.stringify(
				profileOf(hits.filter(({ entry }) => entry.sid === sid).map(({ entry }) => entry)),
			),
		})),
		hits: hits.map(({ entry, body }) => ({
			sid: entry.sid,
			atMs: entry.atMs,
			body: JSON.stringify(body),
		})),
	};
}

function makeBody(
	random: () => number,
	{ channel, device, isFirst }: { channel: string; device: string; isFirst: boolean },
): HitRecord {
	// Of 200 pages, a few get most of the hits.
	const page = `articles/page-${Math.floor(random() ** 3 * 200)}`;
	return {
		page,
		url: `https://shop.example/${page}`,
		referrer: channel === 'direct' ? null : `https://${channel}.example/`,
		title: `The page ${page}`,
		events: random() < 0.2 ? [{ name: pick(random, eventNames) }] : [],
		cid: isFirst ? customer : null,
		channel,
		device,
	};
}
