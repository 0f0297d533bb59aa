import type { WatchedMetric } from '../../../core/metrics.ts';

/** What the background work tells of promises. */
export const promisesBroken: WatchedMetric = {
	name: 'caskade_promises_broken',
	help: 'Goals whose served scores differed from what came by more than chance explains, two weeks running.',
	// One process of a machine compares them.
	isOfAll: true,
};
