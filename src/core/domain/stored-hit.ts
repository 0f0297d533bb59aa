import { minuteMs } from '../durations.ts';
import type { DerivedVisitor } from './derived-vid.ts';
import type { HitEntry } from './profile.ts';

/** The stored content of a hit, besides visitor, visit and time. */
export interface HitRecord {
	readonly page: string | null;
	/** Without the fragment, and without the query except utm parameters. */
	readonly url: string | null;
	readonly referrer: string | null;
	readonly title: string | null;
	readonly events: readonly HitEvent[];
	readonly cid: string | null;
	/** It came without a right signature, and the account does not believe everybody. Nothing proves the `cid`. */
	readonly isCidUnproven?: true;
	readonly channel: string;
	/** The site that it came from, where `utm_source` and the referrer say it worse or not at all. */
	readonly source?: string;
	/**
	 * Only the browser of an app tells where it came from. That is so of every page that is read there, so only a visit's first hit
	 * arrives.
	 */
	readonly isByApp?: true;
	readonly device: string;
}

interface HitEvent {
	readonly name: string;
	/** Starts a sale that an upload with the same `tid` completes. */
	readonly tid?: string;
	/** The `tid` came without a right signature, and nothing proves it. */
	readonly isTidUnproven?: true;
	/** In the smallest unit of `currency`. */
	readonly rvn?: number;
	readonly currency?: string;
}

export interface ArrivingHit {
	/** As the page sent them; unknown and foreign ids are ignored. */
	readonly vid: string | null;
	readonly sid: string | null;
	/** The visitor that the browser was first, where it has another one's `vid` because a second customer has logged in. */
	readonly firstVid?: string | null;
	/** The account's secret, from which the visitor of another customer is derived. Hits that show a customer have it. */
	readonly visitorSecret?: string | undefined;
	/** Whom its seed leads to. Used where the presented `vid` is not valid. */
	readonly derived?: DerivedVisitor | undefined;
	/** Used where neither is there. */
	readonly freshVid: string;
	readonly freshSid: string;
	readonly atMs: number;
	readonly body: HitRecord;
	/** The body as JSON, where somebody has made that already. */
	readonly text?: string;
}

export interface StoredHit {
	readonly vid: string;
	readonly sid: string;
	/** The visitor that the browser was first, where it is another one. */
	readonly firstVid?: string;
}

/** A past hit, from an import. */
export interface HistoryHit {
	readonly vid: string;
	/** Where the `vid` is derived from a seed. If that visitor was erased, the hit is its successor's. */
	readonly derived?: DerivedVisitor | undefined;
	/**
	 * The visitors that are derived from it and the customers that it shows: if it has been taken apart, the hit may be one of
	 * theirs.
	 */
	readonly apart?: readonly string[];
	/** Null where the import names no visit: such hits form visits, separated by 30 minutes without a hit. */
	readonly sid: string | null;
	readonly atMs: number;
	readonly body: HitRecord;
}

/** A visit ends after this long without a hit. */
export const visitTimeoutMs = 30 * minuteMs;

/** Whether a visit whose last hit was at `lastHitAtMs` still runs at `atMs`. */
export function continuesVisit(lastHitAtMs: number, atMs: number): boolean {
	return Math.abs(atMs - lastHitAtMs) < visitTimeoutMs;
}

/** A hit in a visit, reduced to what profiles need. @param hit.text the body as JSON, as it is stored */
export function hitEntry({
	sid,
	atMs,
	body,
	text,
}: {
	readonly sid: string;
	readonly atMs: number;
	readonly body: HitRecord;
	readonly text: string;
}): HitEntry {
	return {
		type: 'hit',
		atMs,
		sid,
		page: body.page,
		channel: body.channel,
		device: body.device,
		events: body.events.map(({ name }) => name),
		tieBreak: text,
	};
}
