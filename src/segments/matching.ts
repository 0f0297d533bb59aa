import { compileRule, type Rule } from './rule.ts';
import type { RuleFacts } from './rule-environment.ts';
import type { Segment } from './segment.ts';

/** By the list that an account's snapshot holds: rules are compiled once, and forgotten with the snapshot. */
const compiled = new WeakMap<readonly Segment[], readonly CompiledSegment[]>();

interface CompiledSegment {
	readonly segment: Segment;
	readonly rule: Rule;
}

/** The segments whose rules match, in the order of `segments`. */
export function matchingSegments(segments: readonly Segment[], facts: RuleFacts): Segment[] {
	return rulesOf(segments)
		.filter(({ rule }) => rule.matches(facts))
		.map(({ segment }) => segment);
}

function rulesOf(segments: readonly Segment[]): readonly CompiledSegment[] {
	const known = compiled.get(segments);
	if (known) return known;
	const rules = segments.flatMap((segment) => {
		const rule = compileStored(segment);
		return rule ? [{ segment, rule }] : [];
	});
	compiled.set(segments, rules);
	return rules;
}

/** A rule was checked when it was stored. One that no longer holds, as after a downgrade, matches nobody. */
function compileStored({ rule }: Segment): Rule | undefined {
	try {
		return compileRule(rule);
	} catch {
		return undefined;
	}
}
