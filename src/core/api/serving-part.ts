import type { FastifyInstance } from 'fastify';
import type { AccessDirectory } from '../access/directory.ts';
import type { Quota } from '../access/quota.ts';
import type { RequestCounter } from '../access/request-counter.ts';
import type { StoreCapability } from '../capability.ts';
import type { ServerRole } from '../domain/server-role.ts';
import type { Metrics } from '../metrics.ts';
import type { ReadHooks } from '../segments/visitor-reads.ts';
import type { ServingReader } from '../store/serving.ts';
import type { OpenStore } from '../store/store.ts';
import type { KeyOperationOptions } from './key-operation.ts';

/** The serving process's handle on its background work, which is done elsewhere. */
export interface Background {
	/** Announces that an account has work waiting. */
	fold(accountId: number): void;
	/** Tells the background work of a capability. */
	post(to: string, message: unknown): void;
	/** Tells the background work of a capability, and again whenever that work is started anew. */
	keepPosting(to: string, message: unknown): void;
	/** How often something has happened there. */
	count(name: string): number;
	/** How much there is of something there. */
	level(name: string): number;
	/** Waits for what has begun. */
	stop(): Promise<void>;
}

/** The server that a capability takes part in. */
export interface Server {
	readonly store: OpenStore;
	readonly directory: AccessDirectory;
	readonly reader: ServingReader;
	readonly quota: Quota;
	readonly counter: RequestCounter;
	readonly metrics: Metrics;
	/** Undefined where this process does none. */
	readonly background: Background | undefined;
	readonly roles: readonly ServerRole[];
	/** Whether it shows the demo. */
	readonly isDemo: boolean;
	/** Milliseconds since 1970. */
	readonly now: () => number;
}

/** A server that listens, as who has started it reaches it. */
export interface ListeningServer {
	readonly url: string;
	/** Of the console; undefined where there is none. */
	readonly consoleUrl: string | undefined;
	/** The address of its databases, and the flags by which a command finds the same. */
	readonly database: string;
	readonly flags: string;
}

/** What a capability adds to a server. What is missing costs a request nothing. */
export interface ServingPart {
	operations?(app: FastifyInstance, guard: KeyOperationOptions): void | Promise<void>;
	readonly hooks?: ReadHooks;
	/** A visitor of an account that somebody follows may have changed. */
	onVisitorChange?(accountId: number): void;
	/** Tells who has started the server what to do with it. @returns the page to begin with, if it has one */
	offer?(listening: ListeningServer): Promise<string | undefined>;
	/** The server is about to stop. */
	stop?(): void;
}

/** What of a capability a server is made with. */
export interface ServingCapability extends StoreCapability {
	serving?(server: Server): ServingPart | Promise<ServingPart>;
}
