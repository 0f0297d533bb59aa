import type { Segment } from '../domain/segment.ts';
import { compileRule, type Rule } from './rule.ts';
import type { RuleFacts } from './rule-environment.ts';

/** By the list that an account's snapshot holds: rules are compiled once, and forgotten with the snapshot. */
const compiled = new WeakMap<readonly Segment[], CompiledSegments>();

interface CompiledSegments {
	readonly each: readonly CompiledSegment[];
	readonly readScores: boolean;
}

interface CompiledSegment {
	readonly segment: Segment;
	readonly rule: Rule;
}

/** The segments whose rules match, in the order of `segments`. */
export function matchingSegments(segments: readonly Segment[], facts: RuleFacts): Segment[] {
	return compiledOf(segments)
		.each.filter(({ rule }) => rule.matches(facts))
		.map(({ segment }) => segment);
}

/** Whether any of the rules asks for scores, percentiles or bands; where none does, they may be empty. */
export function readScores(segments: readonly Segment[]): boolean {
	return compiledOf(segments).readScores;
}

function compiledOf(segments: readonly Segment[]): CompiledSegments {
	const known = compiled.get(segments);
	if (known) return known;
	const each = segments.flatMap((segment) => {
		const rule = compileStored(segment);
		return rule ? [{ segment, rule }] : [];
	});
	const made = { each, readScores: each.some(({ rule }) => rule.readsScores) };
	compiled.set(segments, made);
	return made;
}

/** A rule was checked when it was stored. One that no longer holds, as after a downgrade, matches nobody. */
function compileStored({ rule }: Segment): Rule | undefined {
	try {
		return compileRule(rule);
	} catch {
		return undefined;
	}
}
