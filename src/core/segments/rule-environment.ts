import { type ASTNode, Environment } from '@marcbachmann/cel-js';
import { type VisitFacts, type VisitorFacts, visitFacts, visitorFacts } from '../domain/facts.ts';

/**
 * The variables of a rule. The maps are keyed by goal; `bands` contains low, medium or high. Rules ask for lifts by `lift("GOAL")`.
 */
export interface RuleFacts {
	readonly visitor: VisitorFacts;
	readonly visit: VisitFacts;
	readonly scores: ReadonlyMap<string, number>;
	readonly percentiles: ReadonlyMap<string, number>;
	readonly bands: ReadonlyMap<string, string>;
	readonly lifts: ReadonlyMap<string, number>;
}

/** Not to be used by rules themselves: `lift("GOAL")` says which goal is meant. */
export const liftVariable = 'lifts';

type CelType = 'double' | 'string' | 'list<string>' | 'map<string, double>';

/** The CEL type of each fact. Numbers are always doubles, so that 5 / 2 is 2.5. */
function typesOf(facts: VisitorFacts | VisitFacts): Record<string, CelType> {
	return Object.fromEntries(Object.entries(facts).map(([name, value]) => [name, celTypeOf(value)]));
}

function celTypeOf(value: VisitorFacts[keyof VisitorFacts]): CelType {
	if (typeof value === 'number') return 'double';
	if (typeof value === 'string') return 'string';
	return Array.isArray(value) ? 'list<string>' : 'map<string, double>';
}

/** The variables, their types and the parser's limits. */
export const ruleEnvironment = withWholeNumbers(
	new Environment({
		limits: { maxAstNodes: 200, maxDepth: 32 },
	}),
)
	.registerVariable({ name: 'visitor', schema: typesOf(visitorFacts(null, 0)) })
	.registerVariable({ name: 'visit', schema: typesOf(visitFacts(null)) })
	.registerVariable('scores', 'map<string, double>')
	.registerVariable('percentiles', 'map<string, double>')
	.registerVariable('bands', 'map<string, string>')
	.registerVariable(liftVariable, 'map<string, double>')
	.registerFunction('lift(ast): double', ({ args: [goal] }) => {
		let access: ASTNode;
		return {
			typeCheck(checker: Syntax, _: unknown, context: unknown) {
				if (goal.op !== 'value' || typeof goal.args !== 'string')
					throw checker.createError('invalid_argument', 'lift() takes a goal, as lift("subscription")', goal);
				// Only now: the library parses one text at a time.
				access = ruleEnvironment.parse(`${liftVariable}[${JSON.stringify(goal.args)}]`).ast;
				return checker.check(access, context);
			},
			evaluate: (evaluator: Syntax, _: unknown, context: unknown) => evaluator.run(access, context),
		};
	});

/** What the library gives to a function of syntax. */
interface Syntax {
	check(node: ASTNode, context: unknown): unknown;
	run(node: ASTNode, context: unknown): unknown;
	createError(code: string, message: string, node: ASTNode): Error;
}

/**
 * Lets integer literals be used with doubles, which CEL does not allow by itself: `visitor.visits == 3`, `visitor.pages +
 * 1`.
 */
function withWholeNumbers(environment: Environment): Environment {
	const arithmetic: Record<string, (a: number, b: number) => number> = {
		'+': (a, b) => a + b,
		'-': (a, b) => a - b,
		'*': (a, b) => a * b,
		'/': (a, b) => a / b,
	};
	for (const [operator, compute] of Object.entries(arithmetic)) {
		environment
			.registerOperator(`double ${operator} int: double`, (a: number, b: bigint) => compute(a, Number(b)))
			.registerOperator(`int ${operator} double: double`, (a: bigint, b: number) => compute(Number(a), b));
	}
	return environment
		.registerOperator('double == int', (a: number, b: bigint) => a === Number(b))
		.registerOperator('double in list<int>', (a: number, list: readonly bigint[]) =>
			list.some((b) => a === Number(b)),
		);
}
