import type { OpenOptions } from '../core/store/open.ts';
import type { OpenStore } from '../core/store/store.ts';
import type { RunComputeJob } from './jobs/compute-jobs.ts';
import type { ReportDefinition } from './reports/report.ts';

/** What the assembly has put together. */
export interface Assembly {
	/** By kind, in the order in which they are listed. */
	readonly reports: Readonly<Record<string, () => Promise<ReportDefinition>>>;
	/** Opens the databases at an address with all that they keep there. */
	openStore(address: string, options?: OpenOptions): Promise<OpenStore>;
	/** What it does on the thread of jobs, by the type of the job. */
	readonly computeJobs: Readonly<Record<string, () => Promise<RunComputeJob>>>;
	/** The module of that thread. */
	readonly computeThread: URL;
}

const whole: Partial<Assembly> = {};

/** Says once in each thread what all is made of: faces know no capability, and the assembly is above them. */
export function assemble(parts: Partial<Assembly>): void {
	Object.assign(whole, parts);
}

/** A part of it. @throws Error where the assembly was not loaded */
export function assembled<Name extends keyof Assembly>(name: Name): Assembly[Name] {
	const part = whole[name];
	if (part === undefined) throw new Error(`the assembly has not said its ${name}`);
	return part;
}
