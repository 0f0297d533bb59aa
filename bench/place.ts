/** What the service stores in: a data folder, or a database of a PostgreSQL server. It has one account at first. */
export interface Place {
	/** For `--database`. */
	readonly address: string;
	/** Of the engine, where it is not a part of the service. */
	readonly enginePid?: number;
	/** In the first account's database, counted there. */
	countEvents(): Promise<number>;
	/** Gives the first account so many events, with `tid`s as random as UUIDs; it must have none. */
	prefill(events: number): Promise<void>;
	/** Adds accounts until there are so many; on PostgreSQL `caskade migrate` must make their schemas. */
	addAccounts(accounts: number): Promise<void>;
	/** Makes another with the same content, while nobody uses this one. */
	copy(): Promise<Place>;
	remove(): Promise<void>;
}
