import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { visitFacts, visitorFacts } from '../../../src/core/domain/facts.ts';
import { compileRule } from '../../../src/core/segments/rule.ts';

const page = readFileSync(join(import.meta.dirname, '../../../docs/reference/segments.md'), 'utf8');
const goals = ['subscription', 'return'];

const cel = { number: 'double', text: 'string', 'list of texts': 'list', 'map of numbers': 'map' } as const;
const asked = {
	double: (fact: string) => `${fact} >= 0.0`,
	string: (fact: string) => `${fact} == ""`,
	list: (fact: string) => `${fact}.all(entry, entry.size() >= 0)`,
	map: (fact: string) => `${fact}.all(name, ${fact}[name] > 0.0)`,
};

function documented(variable: string): { name: string; type: keyof typeof cel }[] {
	return [...page.matchAll(new RegExp(`^\\| \`${variable}\\.(\\w+)\` \\| ([\\w ]+) \\|`, 'gm'))].map(
		([, name, type]) => ({ name: name as string, type: type as keyof typeof cel }),
	);
}

test('the page lists exactly the facts that exist', () => {
	const names = (variable: string) => documented(variable).map(({ name }) => name);
	assert.deepEqual(names('visitor'), Object.keys(visitorFacts(null, 0)));
	assert.deepEqual(names('visit'), Object.keys(visitFacts(null)));
});

describe('the types on the page are those of the rules', () => {
	for (const variable of ['visitor', 'visit'])
		for (const { name, type } of documented(variable))
			test(`${variable}.${name} is a ${type}`, () => {
				compileRule(asked[cel[type]](`${variable}.${name}`));
			});
});

describe("the page's rules are valid", () => {
	const section = page.slice(page.indexOf('\n## Rules'));
	const examples = section.split('```')[1]?.trim().split('\n') ?? [];
	const commands = [...page.matchAll(/--rule '([^']+)'/g)].map(([, rule]) => rule as string);
	assert.deepEqual([examples.length, commands.length], [5, 3]);
	for (const rule of new Set([...examples, ...commands]))
		test(rule, () => {
			compileRule(rule, goals);
		});
});

test("the page's error is the actual one", () => {
	const shown = /```\ncaskade: (There is no fact[^`]+)\n```/.exec(page)?.[1] as string;
	const rule = shown.split('\n')[1] as string;
	assert.throws(() => compileRule(rule.trim()), { message: shown });
});
