import type { MessagePort } from 'node:worker_threads';
import type { ClientCommands, ControlCommands } from './commands.ts';

/** States of a request's cell in the memory that both threads share. Whoever changes it from `waiting` decides. */
export const cell = { waiting: 0, committing: 1, expired: 2 } as const;

/** The control database's number. Accounts' databases are numbered from 1. */
export const controlDatabaseId = 0;

export type CommandName = keyof ControlCommands | keyof ClientCommands;

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

/** A thread that hands over work: how the writer thread answers it, and its cells. */
export interface WriterEnd {
	readonly port: MessagePort;
	readonly cellsBuffer: SharedArrayBuffer;
}

/** From the thread that has started the writer thread. */
export type ToWriter = ({ type: 'connect' } & WriterEnd) | { type: 'stop' };

/** The answers to one thread's work. */
export interface Results {
	readonly results: WorkResult[];
	/** Of the work committed together; to one of the threads whose work it was. `seconds`: from BEGIN to the end of COMMIT. */
	readonly group?: { readonly size: number; readonly seconds: number };
}

/** To the thread that has started the writer thread. */
export type FromWriter =
	| { type: 'ready' }
	/** An account has background work. */
	| { type: 'waiting'; databaseId: number }
	/** For the operator; safe to log. */
	| { type: 'error'; databaseId: number; reason: string };
