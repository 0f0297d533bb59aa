import { type LogEntry, profileOf } from '../../../src/core/domain/profile.ts';
import type { RuleFacts } from '../../../src/core/segments/rule-environment.ts';
import { ruleFacts } from '../../../src/core/segments/rule-facts.ts';

/** The facts of a visitor with this log, a high score for `subscription` and a low one for `return`. */
export function factsOf(log: readonly LogEntry[], nowMs: number): RuleFacts {
	return ruleFacts(
		profileOf(log),
		[
			{ goal: 'subscription', score: 0.42, percentile: 93, band: 'high', model: 'prior' },
			{ goal: 'return', score: 0.1, percentile: 12, band: 'low', model: 'prior' },
		],
		nowMs,
	);
}
