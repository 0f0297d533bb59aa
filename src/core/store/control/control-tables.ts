import { type AnyReading, type AnySteps, type Reading, type Row, raw, select } from '../steps.ts';

/** Runs steps in a transaction that has begun. */
export type RunSteps = <T>(steps: AnySteps<T>) => Promise<T>;

/** The control database of an engine. */
export interface ControlDatabase {
	/** Reads one state. */
	read<T>(reading: AnyReading<T>): Promise<T>;
	/** Writes in one transaction. */
	write<T>(steps: AnySteps<T>): Promise<T>;
	/** A transaction that may wait for others between its steps. What asks for anything else meanwhile waits, too. */
	transact<T>(fn: (run: RunSteps) => Promise<T>): Promise<T>;
}

/** How the parts of the control store reach the database. */
export interface ControlDoors {
	/** Reads one state. */
	read<T>(reading: AnyReading<T>): Promise<T>;
	/** Writes what running servers need not notice. */
	write<T>(begin: () => AnySteps<T>): Promise<T>;
	/** A transaction that running servers notice. Changes are serialised. */
	change<T>(begin: () => AnySteps<T>): Promise<T>;
	/** Makes several of these one such transaction. `fn` may use no doors but those that it is given. */
	together<T>(fn: (doors: ControlDoors) => Promise<T>): Promise<T>;
	/** Milliseconds since 1970. */
	now(): number;
}

/** A table of the control database, see `migrations/<engine>/control/`, and what becomes of its rows. */
export interface ControlTable {
	readonly name: string;
	/** Stores create the others themselves; who is signed in signs in again. */
	readonly isCopied: boolean;
	/** The column that has the number or the `aid` of the account that a row is deleted with. */
	readonly account?: 'id' | 'account_id' | 'aid';
	/** A column that is emptied with the account. The rest of the row stays. */
	readonly forgets?: string;
}

/** The tables of the core that are copied or have something of an account, ordered so that referenced rows come first. */
export const coreTables: readonly ControlTable[] = [
	{ name: 'client', isCopied: true },
	{ name: 'account', isCopied: true, account: 'id' },
	{ name: 'plan', isCopied: true },
	{ name: 'api_key', isCopied: true },
	{ name: 'usage', isCopied: true },
	{ name: 'signing_key', isCopied: true },
	{ name: 'revocation', isCopied: true, account: 'account_id' },
	{ name: 'goal', isCopied: true, account: 'account_id' },
	{ name: 'segment', isCopied: true, account: 'account_id' },
	{ name: 'model', isCopied: true, account: 'account_id' },
	{ name: 'note', isCopied: true, account: 'account_id' },
	{ name: 'upload_answer', isCopied: false, account: 'aid' },
	{ name: 'upload_quarter', isCopied: false, account: 'aid' },
	{ name: 'upload_problem', isCopied: false, account: 'aid' },
];

/** The rows of all tables that are copied, in the order in which they are. */
export interface ControlContent extends Readonly<Record<string, readonly Row[]>> {
	readonly client: readonly (Row & { readonly id: number })[];
	readonly account: readonly (Row & { readonly id: number; readonly aid: string })[];
	readonly plan: readonly Row[];
	readonly api_key: readonly Row[];
}

/**
 * The sequence number of a new row, after all others of its table. Changes of the control database are serialised, so
 * numbers are unique.
 */
export function* nextSeq(table: string): Reading<number> {
	const [row] = yield* select`max(seq) AS last FROM @${raw(table)}`;
	return Number(row?.last ?? 0) + 1;
}
