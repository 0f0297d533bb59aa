import type { PageReads } from '../../core/store/serving.ts';
import type { Store, StorePlace } from '../../core/store/store.ts';

/** What the thread of jobs can do: capabilities declare what each job is, tells on the way, and gives. */
// biome-ignore lint/suspicious/noEmptyInterface: capabilities add to it
export interface ComputeJobs {}

export type ComputeJob = { readonly type: string; readonly isInBackground?: boolean };

/** Does a job on that thread. */
export type RunComputeJob = (
	store: Store & PageReads,
	job: never,
	onProgress: (progress: unknown) => void,
) => Promise<unknown>;

/** A message to that thread. */
export interface ComputeData {
	readonly place: StorePlace;
	readonly job: ComputeJob;
}
