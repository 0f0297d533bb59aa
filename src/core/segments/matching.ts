import type { Segment } from '../domain/segment.ts';
import { compileRule, type Rule } from './rule.ts';
import type { RuleFacts } from './rule-environment.ts';

/** Compiled rules, cached by the snapshot's list of segments and collected with it. */
const compiled = new WeakMap<readonly Segment[], CompiledSegments>();

interface CompiledSegments {
	readonly each: readonly CompiledSegment[];
	readonly readScores: boolean;
}

interface CompiledSegment {
	readonly segment: Segment;
	readonly rule: Rule;
}

/** The segments whose rules match, in their original order. */
export function matchingSegments(segments: readonly Segment[], facts: RuleFacts): Segment[] {
	return compiledOf(segments)
		.each.filter(({ rule }) => rule.matches(facts))
		.map(({ segment }) => segment);
}

/** Whether any rule reads scores, percentiles or bands. Where none does, they may be left empty. */
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
	const result = { each, readScores: each.some(({ rule }) => rule.readsScores) };
	compiled.set(segments, result);
	return result;
}

/** Compiles a stored rule. One that is no longer valid, for example after a downgrade, matches nobody. */
function compileStored({ rule }: Segment): Rule | undefined {
	try {
		return compileRule(rule);
	} catch {
		return undefined;
	}
}
