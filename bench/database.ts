/** A database for the service under test: a data folder, or a database of a PostgreSQL server. It starts with one account. */
export interface BenchDatabase {
	/** The value of `--database`. */
	readonly address: string;
	/** The PostgreSQL server's process. */
	readonly enginePid?: number;
	/** Counts the first account's events, with SQL. */
	countEvents(): Promise<number>;
	/** Counts the first account's events that are joined to a visitor. */
	countJoined(): Promise<number>;
	/** Counts the first account's hits. */
	countHits(): Promise<number>;
	/** Size of the first account's database. */
	bytes(): Promise<number>;
	/** Stores events with random `tid`s in the first account, which must have none. */
	addEvents(events: number): Promise<void>;
	/**
	 * Stores visitors in the first account, which must have none and must not be in use. The first `maxVisitorsWithHistory`
	 * also get their visits and hits, and a `cid`: `cust-0000001` and so on.
	 */
	addVisitors(visitors: number): Promise<VisitorBytes>;
	/** Returns the `vid`s of random visitors; `with history`, only of those whose visits are stored. */
	sampleVids(count: number, which?: 'with history'): Promise<string[]>;
	/** Adds accounts until there are `total`. */
	addAccounts(total: number): Promise<void>;
	/** Creates a copy. This database must not be in use. */
	copy(): Promise<BenchDatabase>;
	remove(): Promise<void>;
}

/** Only writes need visits and hits, and these are enough for them. A limit keeps preparation short. */
export const maxVisitorsWithHistory = 200_000;

/** Disk space per visitor, visit and hit, including indexes. */
export interface VisitorBytes {
	readonly visitor: number;
	readonly visit: number;
	readonly hit: number;
}
