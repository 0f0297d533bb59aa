import type { ServingCapability } from '../core/api/serving-part.ts';
import type { AnyAct } from './act.ts';
import type { Buildable } from './cli/command.ts';
import type { MakeEntrance } from './console/entrance.ts';
import type { AccountRequest, ConsolePage } from './console/page.ts';
import type { HtmlValue } from './format/html.ts';
import type { BackgroundPart, BackgroundPlace } from './jobs/background-part.ts';
import type { RunComputeJob } from './jobs/compute-jobs.ts';
import type { ReportDefinition } from './reports/report.ts';

/** By what somebody asks for: nothing is loaded before. */
type Loaders<Of> = Readonly<Record<string, () => Promise<Of>>>;

/** Acts of a noun that programs may do, too: those about an account that an operator of it may do. */
export interface ManagedActs {
	readonly verbs: readonly string[];
	/** Whether programs may list what there is of the noun. */
	readonly isListed?: boolean;
	/** A module that exports them, and the `Listing`. */
	load(): Promise<Readonly<Record<string, AnyAct | unknown>>>;
}

/** What a capability adds to the console. */
export interface ConsolePart {
	readonly pages: readonly ConsolePage[];
	/** What it tells of an account beside others. */
	cardOf?(asked: AccountRequest): Promise<HtmlValue>;
	/** Lets people in. There is one. */
	readonly entrance?: MakeEntrance;
	/** What somebody who opens an account should look at, each with what to do. */
	attention?(asked: AccountRequest): Promise<readonly HtmlValue[]>;
}

/** What a capability does beside requests. */
export interface Jobs {
	/** Begins what it does on the thread of all background work. */
	background?(at: BackgroundPlace): Promise<BackgroundPart | undefined>;
	/** What it does on the thread of jobs, by the type of the job. */
	readonly compute?: Loaders<RunComputeJob>;
}

/**
 * All that a capability adds, said once. `src/assembly/capabilities.ts` lists all. Besides its name there are at most eight slots; what
 * would need a ninth belongs to the core. What they name is loaded when it is needed, so that a command does not load the console.
 */
export interface Capability extends ServingCapability {
	/** Of its folder. */
	readonly name: string;
	readonly commands?: Loaders<Buildable>;
	/** By noun. */
	readonly acts?: Readonly<Record<string, ManagedActs>>;
	/** By kind. */
	readonly reports?: Loaders<ReportDefinition>;
	pages?(): Promise<ConsolePart>;
	readonly jobs?: Jobs;
}
