import type { RuleFacts } from '../../src/segments/rule-environment.ts';
import { visitFacts, visitorFacts } from '../../src/visitors/facts.ts';
import { type LogEntry, profileOf } from '../../src/visitors/profile.ts';

/** Facts of whoever has left the log, with a high score for `subscription` and a low one for `return`. */
export function factsOf(log: readonly LogEntry[], nowMs: number): RuleFacts {
	const profile = profileOf(log);
	return {
		visitor: visitorFacts(profile, nowMs),
		visit: visitFacts(profile),
		scores: new Map([
			['subscription', 0.42],
			['return', 0.1],
		]),
		percentiles: new Map([
			['subscription', 93],
			['return', 12],
		]),
		bands: new Map([
			['subscription', 'high'],
			['return', 'low'],
		]),
	};
}
