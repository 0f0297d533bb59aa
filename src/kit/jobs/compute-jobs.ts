import type { StorePlace } from '../../core/store/store.ts';

/** What the thread of jobs can do: capabilities declare what each job is, tells on the way, and gives. */
// biome-ignore lint/suspicious/noEmptyInterface: capabilities add to it
export interface ComputeJobs {}

export type ComputeJob = ComputeJobs[keyof ComputeJobs]['job'];

/** A message to that thread. */
export interface ComputeData {
	readonly place: StorePlace;
	readonly job: ComputeJob;
}
