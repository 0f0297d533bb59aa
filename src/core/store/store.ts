import type { ControlStore } from './control/control-store.ts';
import type { ErasureList } from './erasure-list.ts';
import type { Maintenance } from './maintenance.ts';
import type { ServingStore } from './serving.ts';
import type { Reading, Steps } from './steps.ts';

/** The control database, and the only two doors to the accounts' databases. What nearly everything takes of a store. */
export interface Store {
	readonly control: ControlStore;
	/** Milliseconds since 1970, by the clock that all users of the store share. */
	readonly now: () => number;
	readonly erasureList: ErasureList;
	/** Reads one state of an account's database, without blocking anybody. */
	read<T>(accountId: number, reading: Reading<T>): Promise<T>;
	/**
	 * Runs steps in one transaction in an account's database, also beside a serving process. The only way to write to it.
	 * Repeats them after a concurrent change or a deadlock.
	 */
	transact<T>(accountId: number, begin: () => Steps<T>): Promise<T>;
	/**
	 * Texts that become others when something is written to accounts' databases, soon at the latest. They tell of thousands of accounts
	 * which have something new, without a look into each. Missing is who cannot be told so.
	 */
	marks(accountIds: readonly number[]): Promise<ReadonlyMap<number, string>>;
}

/**
 * What happens to a database whose schema is older than this version's. Servers and `caskade migrate` migrate it, which is the
 * default. Other commands refuse it: whoever only reads must not upgrade what another version serves. A backup takes it as it is.
 */
export type OlderSchema = 'migrate' | 'refuse' | 'leave';

/** How a store is opened; see `openStore`. Holds a password where the address does. */
export interface StorePlace {
	readonly database: string;
	readonly stage?: string | undefined;
	readonly olderSchema?: OlderSchema | undefined;
	/** Host and port by which this process reaches a cluster's node, by host and port by which the nodes do. */
	readonly nodeAddress?: Readonly<Record<string, string>> | undefined;
	/** The file of the list of erasures. A data folder has one; elsewhere none is kept unless it is named. */
	readonly erasureList?: string | undefined;
}

/** The databases of one stage, and all that can be done with them. Whoever is given a store takes a part of this. */
export interface OpenStore extends Store, ServingStore, Maintenance {
	/** Where another thread opens the same store. */
	readonly place: StorePlace;
	close(): Promise<void>;
}
