import { type Assignment, drawOf, type Experiment, endOf, isRunning } from '../domain/experiment.ts';
import type { Segment } from '../domain/segment.ts';

/** The ids of segments that running experiments hide from a person. */
export function heldOutOf(experiments: readonly Experiment[], person: string, nowMs: number): Set<string> {
	return new Set(
		experiments
			.filter((experiment) => isRunning(experiment, nowMs) && drawOf(experiment, person).group === 'holdout')
			.map(({ segment }) => segment),
	);
}

/** A segment as pages read it. */
export interface SegmentName {
	readonly id: string;
	readonly name: string;
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

/** What pages are told of a segment, and the experiments about it, which do not differ by visitor. */
export interface PlacedSegment {
	readonly name: SegmentName;
	/** In order of creation; undefined where there are none. */
	readonly experiments: readonly PlacedExperiment[] | undefined;
}

interface Placed {
	readonly segments: readonly Segment[];
	readonly ofSegments: ReadonlyMap<Segment, PlacedSegment>;
}

/** By the list of a snapshot, and collected with it. */
const known = new WeakMap<readonly Experiment[], Placed>();

/** An account's segments with their experiments. */
export function placedSegments(
	segments: readonly Segment[],
	experiments: readonly Experiment[],
): ReadonlyMap<Segment, PlacedSegment> {
	const before = known.get(experiments);
	if (before?.segments === segments) return before.ofSegments;
	const placed = experiments.map((experiment, place) => ({
		experiment,
		fromMs: experiment.fromMs,
		untilMs: endOf(experiment),
		bit: 1 << place,
		treated: { experiment: experiment.name, group: 'treated' as const },
		holdout: { experiment: experiment.name, group: 'holdout' as const },
	}));
	const byId = Map.groupBy(placed, ({ experiment }) => experiment.segment);
	const ofSegments = new Map(
		segments.map((segment) => [
			segment,
			{ name: { id: segment.id, name: segment.name }, experiments: byId.get(segment.id) },
		]),
	);
	known.set(experiments, { segments, ofSegments });
	return ofSegments;
}
