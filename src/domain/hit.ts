/** What is stored of a hit besides whose it is and when it was. */
export interface HitRecord {
	readonly page: string | null;
	/** Without fragment and, but for utm parameters, without query. */
	readonly url: string | null;
	readonly referrer: string | null;
	readonly title: string | null;
	readonly events: readonly HitEvent[];
	readonly cid: string | null;
	readonly channel: string;
	readonly device: string;
}

export interface HitEvent {
	readonly name: string;
	/** Begins a sale that an upload with the same `tid` completes. */
	readonly tid?: string;
	/** In the smallest unit of `currency`. */
	readonly rvn?: number;
	readonly currency?: string;
}

export interface ArrivingHit {
	/** As the page presents them; unknown or foreign ones count for nothing. */
	readonly vid: string | null;
	readonly sid: string | null;
	/** Issued if the presented ones do not count. */
	readonly freshVid: string;
	readonly freshSid: string;
	readonly atMs: number;
	readonly body: HitRecord;
}

export interface StoredHit {
	readonly vid: string;
	readonly sid: string;
}

/** A hit that happened at some time. */
export interface HistoryHit {
	readonly vid: string;
	/** The visit where history names it; null: the visitor's hits without one are cut where 30 minutes are between two. */
	readonly sid: string | null;
	readonly atMs: number;
	readonly body: HitRecord;
}
