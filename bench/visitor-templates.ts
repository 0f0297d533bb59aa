import { type HitEntry, type LogEntry, profileOf } from '../src/core/domain/profile.ts';
import type { HitRecord } from '../src/core/domain/stored-hit.ts';
import { dayMs, hourMs } from '../src/core/durations.ts';
import { seededRandom } from '../src/kit/random.ts';

/**
 * A generated visitor with visits and hits. A database stores many copies of each template, each with its own `vid` instead
 * of `vidPlaceholder`. The profiles come from the service's own reducer.
 */
export interface VisitorTemplate {
	/** JSON text, as stored. */
	readonly profile: string;
	readonly visits: readonly { readonly sid: string; readonly profile: string }[];
	readonly hits: readonly { readonly sid: string; readonly atMs: number; readonly body: string }[];
}

/** Stands for the first 30 digits of a `vid`. Its `sid`s begin with the same digits. */
export const vidPlaceholder = '0'.repeat(30);
/** Stands for the visitor's `cid`, which the first hit contains. */
export const cidPlaceholder = 'cust-#######';

/** Enough templates to vary like visitors, few enough to generate quickly. */
const templateCount = 2000;

const channels = ['direct', 'organic', 'paid', 'email', 'social', 'referral'];
const devices = ['desktop', 'mobile', 'mobile', 'tablet'];
const eventNames = ['scroll', 'video', 'add-to-basket', 'checkout', 'newsletter', 'search', 'share', 'login'];

/** Generates the templates from a fixed seed. Their hits end shortly before `nowMs`. */
export function makeVisitorTemplates(nowMs: number): VisitorTemplate[] {
	const random = seededRandom(7);
	return Array.from({ length: templateCount }, () => makeVisitorTemplate(random, nowMs));
}

/** Geometric distribution from 1 on: many small numbers, few large ones. */
function geometric(random: () => number, mean: number): number {
	return 1 + Math.floor(Math.log(1 - random()) / Math.log(1 - 1 / mean));
}

function pick<Item>(random: () => number, items: readonly Item[]): Item {
	return items[Math.floor(random() * items.length)] as Item;
}

/** About 1.8 visits, days apart, of 3 hits each. A fifth of the hits has an event; a twentieth of the visitors subscribes. */
function makeVisitorTemplate(random: () => number, nowMs: number): VisitorTemplate {
	const hits: { entry: HitEntry; body: HitRecord }[] = [];
	const device = pick(random, devices);
	let atMs = Math.floor(nowMs - hourMs - random() * 30 * dayMs);
	const visitCount = Math.min(40, geometric(random, 1.8));
	for (let visit = visitCount; visit > 0; visit--) {
		const sid = vidPlaceholder + visit.toString(16).padStart(2, '0');
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
		// The visit before this one.
		atMs -= Math.ceil((1 + random() * 10) * dayMs);
	}
	const entries: LogEntry[] = hits.map(({ entry }) => entry);
	if (random() < 0.05)
		entries.push({
			type: 'subscription',
			atMs: nowMs - hourMs / 2,
			tid: 'order-1',
			subid: 'sub-1',
			evt: 'newsletter',
			revenuePence: 499,
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
	// A few of the 200 pages get most of the hits.
	const page = `articles/page-${Math.floor(random() ** 3 * 200)}`;
	return {
		page,
		url: `https://shop.example/${page}`,
		referrer: channel === 'direct' ? null : `https://${channel}.example/`,
		title: `The page ${page}`,
		events: random() < 0.2 ? [{ name: pick(random, eventNames) }] : [],
		cid: isFirst ? cidPlaceholder : null,
		channel,
		device,
	};
}
