/** What the service stores in: a data folder, or a database of a PostgreSQL server. It has one account at first. */
export interface Place {
	/** For `--database`. */
	readonly address: string;
	/** Of the engine, where it is not a part of the service. */
	readonly enginePid?: number;
	/** In the first account's database, counted there. */
	countEvents(): Promise<number>;
	/** The same, of those that have been joined to a visitor. */
	countJoined(): Promise<number>;
	countHits(): Promise<number>;
	/** Of the first account's database. */
	bytes(): Promise<number>;
	/** Gives the first account so many events, with `tid`s as random as UUIDs; it must have none. */
	prefill(events: number): Promise<void>;
	/**
	 * Gives the first account so many visitors; it must have none, and nobody may use it. The first `maxLogged` of them
	 * have their visits and hits stored too, and have shown a `cid`: `cust-0000001` and so on.
	 */
	addVisitors(visitors: number): Promise<VisitorBytes>;
	/** So many of the account's visitors, at random; with `logged`, of those whose visits are stored. */
	sampleVids(number: number, logged?: 'logged'): Promise<string[]>;
	/** Adds accounts until there are so many. */
	addAccounts(accounts: number): Promise<void>;
	/** Makes another with the same content, while nobody uses this one. */
	copy(): Promise<Place>;
	remove(): Promise<void>;
}

/** Reads never touch the log: so many visitors' of it are enough for what writes, and keep the making of it short. */
export const maxLogged = 200_000;

/** What the engine needs for one of each, indexes included. */
export interface VisitorBytes {
	readonly visitor: number;
	readonly visit: number;
	readonly hit: number;
}
