import { type ASTNode, serialize } from '@marcbachmann/cel-js';
import { liftVariable, ruleEnvironment } from './rule-environment.ts';
import { RuleError } from './rule-error.ts';

const functions = new Set(['has', 'size', 'double', 'int', 'lift']);
const methods = new Set(['size', 'contains', 'startsWith', 'endsWith', 'lowerAscii', 'upperAscii']);
const loops = new Set(['all', 'exists', 'exists_one', 'filter']);
const operators = new Set('value id . [] list ?: || && !_ -_ == != < <= > >= in + - * / %'.split(' '));
const goalMaps = new Set(['scores', 'percentiles', 'bands']);
const bandNames = ['low', 'medium', 'high'];

/**
 * Rejects rules that could use much time or memory, and unknown names. A rule that passes visits each node once, or once
 * per element of one list, and builds no value larger than the rule and the facts together. Regular expressions are
 * rejected because they can backtrack for ever; `map`, `bind` and concatenation because they can double a value again and
 * again.
 * @param goals the account's goals, where they are known
 */
export function checkBounds(root: ASTNode, goals: readonly string[] | undefined): void {
	visit(root, false);

	function visit(node: ASTNode, inLoop: boolean): void {
		if (!operators.has(node.op) && node.op !== 'call' && node.op !== 'rcall')
			throw refusal(`A rule cannot use ${node.op === 'map' ? 'map literals' : `'${node.op}'`}`, node);
		if (node.op === 'id' && node.args === liftVariable)
			throw refusal(`There is no fact of this name: ${liftVariable}; a rule says lift("GOAL")`, node);
		if (node.op === '+') checkSum(node);
		if (node.op === 'call' && !functions.has(node.args[0]))
			throw refusal(`A rule cannot use ${node.args[0]}()`, node);
		if (node.op === 'rcall') {
			const [name, receiver, inner] = node.args;
			if (loops.has(name)) {
				if (inLoop) throw refusal(`${name}() cannot be inside another all, exists or filter`, node);
				visit(receiver, false);
				for (const child of inner) visit(child, true);
				return;
			}
			if (!methods.has(name)) throw refusal(`A rule cannot use ${name}()`, node);
		}
		checkGoal(node, goals);
		checkBand(node);
		for (const child of children(node)) visit(child, inLoop);
	}
}

/** Whether the rule reads scores, percentiles, bands or lifts. */
export function readsScores(node: ASTNode): boolean {
	const isScore = node.op === 'id' ? goalMaps.has(node.args) : node.op === 'call' && node.args[0] === 'lift';
	return isScore || children(node).some(readsScores);
}

function children(node: ASTNode): readonly ASTNode[] {
	const found: ASTNode[] = [];
	const collect = (value: unknown) => {
		if (Array.isArray(value)) value.forEach(collect);
		else if (isNode(value)) found.push(value);
	};
	if (node.op !== 'value') collect(node.args);
	return found;
}

function isNode(value: unknown): value is ASTNode {
	return typeof value === 'object' && value !== null && 'op' in value;
}

/** Allows `+` for numbers only. A loop variable has no type outside its loop, so sums with one are rejected as well. */
function checkSum(node: ASTNode): void {
	const { type } = ruleEnvironment.check(serialize(node));
	if (type !== 'double' && type !== 'int')
		throw refusal(`'+' adds numbers, not texts, lists or elements of a list`, node);
}

function checkGoal(node: ASTNode, goals: readonly string[] | undefined): void {
	const access = goalAccess(node);
	if (!goals || !access || goals.includes(access.goal)) return;
	const known = goals.length > 0 ? `its goals are ${goals.join(', ')}` : 'it has none';
	throw refusal(`The account has no goal '${access.goal}'; ${known}`, node, access.offset);
}

/** Rejects misspelt bands: `bands.subscription == "hihg"` would never match. */
function checkBand(node: ASTNode): void {
	if (node.op !== '==' && node.op !== '!=') return;
	for (const [side, other] of [node.args, node.args.toReversed()] as [ASTNode, ASTNode][])
		if (goalAccess(side)?.map === 'bands' && other.op === 'value' && !bandNames.includes(String(other.args)))
			throw refusal(`A band is one of "${bandNames.join('", "')}"`, other);
}

/** The goal of an expression such as `scores.NAME`, `scores["NAME"]` or `lift("NAME")`. */
function goalAccess(node: ASTNode): { map: string; goal: string; offset: number } | undefined {
	if (node.op === 'call') {
		const [name, [goal]] = node.args;
		if (name !== 'lift' || goal?.op !== 'value') return undefined;
		return { map: name, goal: String(goal.args), offset: goal.range.start };
	}
	if (node.op !== '.' && node.op !== '[]') return undefined;
	const [object, key] = node.args;
	if (object.op !== 'id' || !goalMaps.has(object.args)) return undefined;
	if (typeof key === 'string')
		return { map: object.args, goal: key, offset: node.input.indexOf(key, object.range.end) };
	if (key.op !== 'value' || typeof key.args !== 'string') return undefined;
	return { map: object.args, goal: key.args, offset: key.range.start };
}

function refusal(problem: string, node: ASTNode, offset = node.range.start): RuleError {
	return new RuleError(problem, node.input, offset);
}
