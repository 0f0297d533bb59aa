import { ParseError, TypeError as RuleTypeError } from '@marcbachmann/cel-js';
import { checkBounds, readsScores } from './rule-bounds.ts';
import { type RuleFacts, ruleEnvironment } from './rule-environment.ts';
import { RuleError } from './rule-error.ts';

export interface Rule {
	readonly text: string;
	/** Whether the rule reads scores, percentiles, bands or lifts. If not, they may be left empty. */
	readonly readsScores: boolean;
	/** Never throws: a rule that fails, for example because a goal has no score, does not match. */
	matches(facts: RuleFacts): boolean;
}

const maxCharacters = 2000;

/**
 * Parses and checks a CEL rule.
 * @param goals the account's goals; where given, other names are rejected
 * @throws RuleError with the place
 */
export function compileRule(text: string, goals?: readonly string[]): Rule {
	if (text.length > maxCharacters)
		throw new RuleError(`A rule has at most ${maxCharacters} characters`, text.slice(0, 40), 0);
	try {
		const evaluate = ruleEnvironment.parse(text);
		const { type, error } = evaluate.check();
		if (error) throw error;
		checkBounds(evaluate.ast, goals);
		if (type !== 'bool')
			throw new RuleError(`A rule must be true or false, but this one is a ${type}`, text, 0);
		return {
			text,
			readsScores: readsScores(evaluate.ast),
			matches: (facts) => isTrue(evaluate, facts),
		};
	} catch (error) {
		throw toRuleError(error, text);
	}
}

function isTrue(evaluate: (facts: RuleFacts) => unknown, facts: RuleFacts): boolean {
	try {
		return evaluate(facts) === true;
	} catch {
		return false;
	}
}

function toRuleError(error: unknown, text: string): RuleError {
	if (error instanceof RuleError) return error;
	if (!(error instanceof ParseError || error instanceof RuleTypeError))
		return new RuleError('The rule cannot be understood', text, 0);
	return new RuleError(inWords(error), text, Math.min(error.range?.start ?? 0, text.length));
}

/** The library's message, reworded where the documentation uses other terms. */
function inWords({ code, summary }: ParseError | RuleTypeError): string {
	if (code === 'no_such_key') return `There is no fact of this name: ${summary.replace('No such key: ', '')}`;
	if (code === 'no_such_overload')
		return `These types do not go together: ${summary.replace('no such overload: ', '').replaceAll('$', '')}`;
	if (code === 'unexpected_token') return summary.replace('EOF', 'the end of the rule');
	if (code === 'limit_exceeded') return `The rule is too long or too deep: ${summary}`;
	return summary.replaceAll('$', '');
}
