import { type Assignment, drawOf, type Experiment, endOf, isRunning } from '../domain/experiment.ts';

/** The ids of segments that running experiments hide from a person. */
export function heldOutOf(experiments: readonly Experiment[], person: string, nowMs: number): Set<string> {
	return new Set(
		experiments
			.filter((experiment) => isRunning(experiment, nowMs) && drawOf(experiment, person).group === 'holdout')
			.map(({ segment }) => segment),
	);
}

/** An experiment with what does not differ by visitor. */
export interface PlacedExperiment {
	readonly experiment: Experiment;
	readonly fromMs: number;
	readonly untilMs: number;
	/** One of 32, by its place in the account's list. */
	readonly bit: number;
	readonly treated: Assignment;
	readonly holdout: Assignment;
}

/** By the list of a snapshot, and collected with it. */
const ofSegments = new WeakMap<readonly Experiment[], ReadonlyMap<string, readonly PlacedExperiment[]>>();

/** An account's experiments by the id of their segment. */
export function bySegment(
	experiments: readonly Experiment[],
): ReadonlyMap<string, readonly PlacedExperiment[]> {
	let known = ofSegments.get(experiments);
	if (!known) {
		const placed = experiments.map((experiment, place) => ({
			...{ experiment, fromMs: experiment.fromMs, untilMs: endOf(experiment), bit: 1 << place },
			treated: { experiment: experiment.name, group: 'treated' as const },
			holdout: { experiment: experiment.name, group: 'holdout' as const },
		}));
		known = Map.groupBy(placed, ({ experiment }) => experiment.segment);
		ofSegments.set(experiments, known);
	}
	return known;
}
