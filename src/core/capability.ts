import type { ControlDoors, ControlTable } from './store/control/tables.ts';
import type { Reading } from './store/steps.ts';

/** What capabilities add to the control store. */
// biome-ignore lint/suspicious/noEmptyInterface: each declares its own members.
export interface ControlMembers {}

/** What they add to what servers know of an account. Each declares its own members. */
export interface AccountMembers {
	/** Whether conflicts of uploads are kept for somebody who tells of them. */
	readonly keepsConflicts: boolean;
	/** Whether somebody is to hear at once of visitors who may have changed. */
	readonly isFollowed: boolean;
}

/** What they add to what servers know besides accounts. */
// biome-ignore lint/suspicious/noEmptyInterface: each declares its own members.
export interface SnapshotMembers {}

/** Gives the part of an account by its number. */
export type AccountParts = (accountId: number) => Partial<AccountMembers>;

/** What a capability keeps in the control database. */
export interface CapabilityNouns {
	members(doors: ControlDoors): Partial<ControlMembers>;
	/** Its tables that are copied or have something of an account, ordered so that referenced rows come first. */
	readonly tables: readonly ControlTable[];
	/** @throws OperatorError where it needs the rule of a segment as it is */
	requireUnused?(accountId: number, segment: string, nowMs: number): Reading<void>;
}

/**
 * What a capability adds to the core, said once. `src/assembly/capabilities.ts` lists all. A store is opened with them, so that a slot that
 * nobody fills costs a request nothing. There are at most eight slots; what would need a ninth belongs to the core.
 */
export interface Capability {
	readonly nouns?: CapabilityNouns;
	/** Its part of what servers know of each account, read in the transaction of the snapshot. */
	ofAccounts?(nowMs: number): Reading<AccountParts>;
	/** The same besides accounts. */
	ofServer?(nowMs: number): Reading<Partial<SnapshotMembers>>;
}
