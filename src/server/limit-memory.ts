import { rateMemory } from '../access/rate-limit.ts';
import type { BucketMemory } from '../access/token-buckets.ts';
import { type HitBudgetMemory, hitBudgetMemory } from '../collect/hit-budget.ts';

/** The counters of limits, in memory that the threads of a process share. */
export interface LimitMemory {
	readonly rates: BucketMemory;
	readonly hits: HitBudgetMemory;
}

export const limitMemory = (): LimitMemory => ({ rates: rateMemory(), hits: hitBudgetMemory() });
