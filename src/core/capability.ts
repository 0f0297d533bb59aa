import type { ControlDoors, ControlTable } from './store/control/control-tables.ts';
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

/** Something that happened. */
export interface NotedMoment {
	readonly atMs: number;
	readonly text: string;
}

/** What a capability keeps in the control database. */
export interface CapabilityNouns {
	members(doors: ControlDoors): Partial<ControlMembers>;
	/** Its tables that are copied or have something of an account, ordered so that referenced rows come first. */
	readonly tables: readonly ControlTable[];
	/** What happened to an account by it, for pictures of time. */
	moments?(control: ControlMembers, accountId: number): Promise<readonly NotedMoment[]>;
	/** @throws OperatorError where it needs the rule of a segment as it is */
	requireUnused?(accountId: number, segment: string, nowMs: number): Reading<void>;
}

/** What a capability adds to what servers know, read in the transaction of the snapshot. */
export interface SnapshotPart {
	/** Of each account, by its number. */
	ofAccount?(accountId: number): Partial<AccountMembers>;
	/** Besides accounts. */
	readonly ofServer?: Partial<SnapshotMembers>;
}

/** What of a capability a store is opened with. An empty slot costs a request nothing. */
export interface StoreCapability {
	readonly nouns?: CapabilityNouns;
	snapshot?(nowMs: number): Reading<SnapshotPart>;
}
