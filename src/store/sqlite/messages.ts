import type { ClientCommands, ControlCommands } from './commands.ts';

/** States of a request's cell in the memory that both threads share; whoever changes it from `waiting` decides. */
export const cell = { waiting: 0, committing: 1, expired: 2 } as const;

/** The control database among the numbers of the accounts' databases, which begin at 1. */
export const controlDatabaseId = 0;

export type CommandName = keyof ControlCommands | keyof ClientCommands;

/** One piece of work for the writer thread. */
export interface Work {
	/** Names the request in answers, and its cell in the shared memory. */
	readonly slot: number;
	readonly databaseId: number;
	readonly command: CommandName;
	readonly input: unknown;
	/** By `monotonicMs()`; after it the work must not be committed. */
	readonly deadlineMs: number;
}

export type WorkResult =
	| { slot: number; outcome: 'committed'; value: unknown }
	| { slot: number; outcome: 'expired' }
	/** `unknown`: its COMMIT has failed, and whether it is stored will be seen when the log is read anew. */
	| { slot: number; outcome: 'failed' | 'unknown'; reason: string; isIoError: boolean };

export type ToWriter = { type: 'work'; work: Work[] } | { type: 'stop' };

export type FromWriter =
	| { type: 'ready' }
	/** `commitSeconds` is the time from BEGIN to the end of COMMIT. */
	| { type: 'results'; results: WorkResult[]; databaseId: number; commitSeconds: number }
	/** Something waits for the background. */
	| { type: 'waiting'; databaseId: number }
	/** For the operator; fit for a log. */
	| { type: 'error'; databaseId: number; reason: string };
