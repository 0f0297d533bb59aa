import { experiments } from '../capabilities/experiments/index.ts';
import { people } from '../capabilities/people/index.ts';
import { webhooks } from '../capabilities/webhooks/index.ts';
import type { Capability } from '../core/capability.ts';

/** All that this Caskade can do besides its core. */
export const capabilities: readonly Capability[] = [people, experiments, webhooks];
