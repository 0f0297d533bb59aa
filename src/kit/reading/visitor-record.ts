import { neverProven } from '../../core/domain/ownership.ts';
import type { Profile } from '../../core/domain/profile.ts';
import type { HitRecord } from '../../core/domain/stored-hit.ts';
import { eventOf, type SubscriptionEvent, storedEventColumns } from '../../core/domain/subscription-event.ts';
import { isoTime } from '../../core/format/iso-time.ts';
import { holdingOrder } from '../../core/store/account/owners/identity-links.ts';
import { ask, type Reading, raw, select } from '../../core/store/steps.ts';

/** Everything stored about a visitor. Times are ISO 8601, UTC. */
export interface VisitorRecord {
	readonly vid: string;
	/** Null if no hit is left. */
	readonly profile: Profile | null;
	readonly visits: readonly { readonly sid: string; readonly profile: Profile }[];
	readonly hits: readonly (HitRecord & { readonly at: string; readonly sid: string })[];
	readonly subscriptionEvents: readonly (SubscriptionEvent & { readonly receivedAt: string })[];
	readonly identityLinks: readonly ShownKey[];
	/** The segments last reported to webhooks; empty if the account has no webhook. */
	readonly memberships: readonly { readonly segment: string; readonly since: string }[];
	/** Bands and goals as webhooks know them; null if they know nothing of the visitor. */
	readonly standing: unknown;
	/** Messages about the visitor that are stored, sent or not. */
	readonly messages: readonly KeptMessage[];
}

/** A message to one webhook. The same change has the same number to all. */
export interface KeptMessage {
	readonly webhook: string;
	readonly sequence: number;
	readonly type: string;
	readonly createdAt: string;
	/** Null if it was not delivered. */
	readonly deliveredAt: string | null;
	/** As sent. */
	readonly message: unknown;
}

/** A `tid` or `cid` that the visitor's hits have shown, and the first time. */
interface ShownKey {
	readonly kind: 'tid' | 'cid';
	readonly value: string;
	readonly at: string;
	/** Whether it came with a right signature, or was believed without one. */
	readonly isProven: boolean;
	/** Whether the visitor was the first to prove it, or else to show it, so that subscription events with it belong to the visitor. */
	readonly holds: boolean;
}

/**
 * Reads everything stored about a visitor; null if there is nothing.
 * @param maxHits how many hits and visits, the latest of all
 */
export function* visitorRecord(
	vid: string,
	maxHits = Number.MAX_SAFE_INTEGER,
): Reading<VisitorRecord | null> {
	const erasing = yield* select`1 AS one FROM @task WHERE name = ${`e:${vid}`} /* record */`;
	if (erasing.length > 0) return null;
	const { visitors, visits, hits, events, links, segments, standings, messages } = yield* ask({
		visitors: select`profile FROM @visitor WHERE vid = ${vid} /* record */`,
		visits: select`sid, profile FROM @visit WHERE sid IN (SELECT sid FROM @logged_hit WHERE vid = ${vid}) ORDER BY id DESC LIMIT ${maxHits} /* record */`,
		hits: select`sid, at, body FROM @logged_hit WHERE vid = ${vid} ORDER BY at DESC, id DESC LIMIT ${maxHits} /* record */`,
		events: select`${raw(storedEventColumns.join(', '))} FROM @subscription_event WHERE vid = ${vid} ORDER BY received_at, id /* record */`,
		links: select`key, at, unproven_until, (SELECT first.vid FROM @claim AS first WHERE first.key = claim.key ORDER BY ${raw(holdingOrder('first'))} LIMIT 1) AS holder FROM @claim AS claim WHERE vid = ${vid} AND key <> 'r:' ORDER BY at, key /* record */`,
		segments: select`segment, since FROM @membership WHERE vid = ${vid} ORDER BY since, segment /* record */`,
		standings: select`body FROM @standing WHERE vid = ${vid} /* record */`,
		messages: select`webhook, sequence, type, created_at, delivered_at, body FROM @outbox WHERE vid = ${vid} ORDER BY sequence, webhook /* record */`,
	});
	const found = [visitors, hits, events, links, segments, standings, messages];
	if (found.every((rows) => rows.length === 0)) return null;
	return {
		vid,
		profile: visitors[0] ? JSON.parse(String(visitors[0].profile)) : null,
		visits: visits
			.toReversed()
			.map((row) => ({ sid: String(row.sid), profile: JSON.parse(String(row.profile)) as Profile }))
			.sort((a, b) => a.profile.firstAtMs - b.profile.firstAtMs),
		hits: hits.toReversed().map((row) => ({
			at: isoTime(Number(row.at)),
			sid: String(row.sid),
			...(JSON.parse(String(row.body)) as HitRecord),
		})),
		subscriptionEvents: events.map((row) => ({
			...eventOf(row),
			receivedAt: isoTime(Number(row.received_at)),
		})),
		identityLinks: links.map((row) => ({
			kind: String(row.key).startsWith('t:') ? 'tid' : 'cid',
			value: String(row.key).slice(2),
			at: isoTime(Number(row.at)),
			isProven: row.unproven_until === null || Number(row.unproven_until) < neverProven,
			holds: row.holder === vid,
		})),
		memberships: segments.map(({ segment, since }) => ({
			segment: String(segment),
			since: isoTime(Number(since)),
		})),
		standing: standings[0] ? JSON.parse(String(standings[0].body)) : null,
		messages: messages.map((row) => ({
			webhook: String(row.webhook),
			sequence: Number(row.sequence),
			type: String(row.type),
			createdAt: isoTime(Number(row.created_at)),
			deliveredAt: isoTime(row.delivered_at == null ? null : Number(row.delivered_at)),
			message: JSON.parse(String(row.body)),
		})),
	};
}
