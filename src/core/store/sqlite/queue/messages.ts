import type { LogLength } from '../engine/checkpointer.ts';
import type { CommandName } from './commands.ts';

/** States of a request's cell in the memory that both threads share. Whoever changes it from `waiting` decides. */
export const cell = { waiting: 0, committing: 1, expired: 2 } as const;

/** The control database's number. Accounts' databases are numbered from 1. */
export const controlDatabaseId = 0;

/** A request to the writer thread. */
export interface Work {
	/** Identifies the request in answers, and its cell in the shared memory. */
	readonly slot: number;
	readonly databaseId: number;
	readonly command: CommandName;
	readonly input: unknown;
	/** Milliseconds of `monotonicMs()`. The work must not be committed later. */
	readonly deadlineMs: number;
}

export type WorkResult =
	| { slot: number; outcome: 'committed'; value: unknown }
	| { slot: number; outcome: 'expired' }
	/** `unknown`: the COMMIT failed, and only reading the log anew will show whether it is stored. */
	| { slot: number; outcome: 'failed' | 'unknown'; reason: string; isIoError: boolean };

/** What a writer thread starts with. */
export interface WriterData {
	readonly folderPath: string;
	/** Databases that the thread keeps open. */
	readonly openDatabases: number;
	/** A cell for each slot. */
	readonly cells: SharedArrayBuffer;
}

/** Work, or the order to finish it and end. */
export type ToWriter = readonly Work[] | 'stop';

export type FromWriter =
	/** It has all that it needs to run, and takes work. */
	| { type: 'ready' }
	/** The answers to work that was committed together. `seconds`: from BEGIN to the end of COMMIT. */
	| { type: 'results'; databaseId: number; results: WorkResult[]; group: { size: number; seconds: number } }
	/** An account has background work. */
	| { type: 'waiting'; databaseId: number }
	/** The write-ahead logs of the databases that the thread has open. */
	| { type: 'logs'; logs: LogLength[] }
	/** For the operator; safe to log. */
	| { type: 'error'; databaseId: number; reason: string };
