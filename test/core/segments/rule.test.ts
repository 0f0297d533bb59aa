import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { dayMs, minuteMs } from '../../../src/core/durations.ts';
import { compileRule } from '../../../src/core/segments/rule.ts';
import { RuleError } from '../../../src/core/segments/rule-error.ts';
import { ruleFacts } from '../../../src/core/segments/rule-facts.ts';
import { hit, startMs, subscription } from '../domain/log.ts';
import { factsOf } from './facts.ts';

/** Of this process, so that what else runs on the machine does not count. */
function cpuMsSince(before: NodeJS.CpuUsage): number {
	const { user, system } = process.cpuUsage(before);
	return (user + system) / 1000;
}

const goals = ['subscription', 'return'];
const sid = 'b'.repeat(32);

/** 2 visits, 4 hits, 3 pages, one of them seen twice. */
const facts = factsOf(
	[
		hit(startMs, { page: 'offer', channel: 'paid-search', events: ['play', 'constructor'] }),
		hit(startMs + minuteMs, { page: 'pricing' }),
		hit(startMs + 9 * dayMs, { sid, page: 'pricing', channel: 'email', device: 'mobile' }),
		hit(startMs + 9 * dayMs + minuteMs, { sid, page: 'blog/7-ways', device: 'mobile', events: ['play'] }),
		subscription(startMs + 8 * dayMs, { evt: 'newsletter', revenuePence: 499 }),
	],
	startMs + 10 * dayMs,
);
const unknown = factsOf([], startMs);

function matches(text: string): boolean {
	return compileRule(text, goals).matches(facts);
}

function refusal(text: string, knownGoals: readonly string[] | undefined = goals): RuleError {
	try {
		compileRule(text, knownGoals);
	} catch (error) {
		assert(error instanceof RuleError);
		return error;
	}
	throw new Error(`taken: ${text}`);
}

describe('a rule that holds', () => {
	for (const text of [
		'visitor.visits >= 2',
		'visitor.visits == 2 && visitor.hits != 5',
		'visitor.visits in [1, 2, 3]',
		'visitor.pages / visitor.visits == 2',
		'visitor.hits / 3 > 1.3',
		'2 * visitor.visits + 1 == 5 && visitor.visits - 0.5 == 1.5',
		'visitor.recentVisits7d > 1 && visitor.recentVisits7d < 2',
		'visitor.daysSinceLast < 1.5',
		'visitor.daysSinceSubscription < 30',
		'visitor.device == "mobile"',
		'visitor.lastChannel in ["email", "sms"]',
		'"paid-search" in visitor.channels',
		'"pricing" in visitor.pages7d && !("offer" in visitor.pages7d)',
		'visitor.pages30d.exists(page, page.startsWith("blog/"))',
		'visitor.pages30d.filter(page, page.contains("o")).size() == 2',
		'size(visitor.pages30d) == 3',
		'visitor.pages7d.all(page, page != "offer")',
		'visitor.events.play >= 2',
		'visitor.events["constructor"] == 1',
		'"play" in visitor.events && has(visitor.events.play)',
		'visitor.evts.newsletter == 1',
		'visit.hits == 2 && visit.landingPage == "pricing"',
		'"play" in visit.eventsFired',
		'scores.subscription > 0.4 && scores["return"] < 0.2',
		'percentiles.subscription >= 90',
		'bands.subscription == "high"',
		'visitor.revenuePence > 0 ? true : false',
		'scores.exists(goal, scores[goal] > 0.4)',
		'// over two lines\nvisitor.visits >= 2\n\t&& true',
	])
		test(text, () => assert.equal(matches(text), true));
});

describe('a rule that does not hold', () => {
	for (const text of [
		'visitor.visits == 1',
		'visitor.visits in [1, 3]',
		'"offer" in visitor.pages7d',
		'bands.subscription != "high"',
		'has(visitor.events.buy)',
	])
		test(text, () => assert.equal(matches(text), false));
});

describe('an unknown visitor', () => {
	test('matches rules that say so, and has never subscribed', () => {
		assert.equal(compileRule('visitor.visits == 0 && visitor.device == ""').matches(unknown), true);
		assert.equal(compileRule('visitor.daysSinceSubscription < 365').matches(unknown), false);
		assert.equal(compileRule('visitor.daysSinceSubscription > 365').matches(unknown), true);
	});
});

describe('lift', () => {
	const of = (lift?: number) =>
		ruleFacts(
			null,
			[
				{
					goal: 'subscription',
					score: 0.3,
					percentile: 50,
					band: 'low',
					model: 'prior',
					...(lift !== undefined && { lift }),
				},
			],
			startMs,
		);
	const lifts = [0.031, 0.01, undefined];
	const expected: [text: string, matches: boolean[]][] = [
		['lift("subscription") > 0.02', [true, false, false]],
		["lift('subscription') * 100 >= 1", [true, true, false]],
		['lift("subscription") + 0.1 > 0.12', [true, false, false]],
		['!(lift("subscription") > 0.02)', [false, true, false]],
		['lift("subscription") > 0.02 || scores.subscription > 0.2', [true, true, true]],
		['[1, 2].exists(factor, lift("subscription") > 0.02)', [true, false, false]],
	];
	for (const [text, matching] of expected)
		test(text, () => {
			const rule = compileRule(text, goals);
			assert.equal(rule.readsScores, true);
			assert.deepEqual(
				lifts.map((lift) => rule.matches(of(lift))),
				matching,
			);
		});
});

describe('a rule that fails during evaluation does not match', () => {
	for (const text of [
		'visitor.events.buy >= 1',
		'visitor.events["buy"] < 1',
		'visitor.pages7d[50] == "pricing"',
		'int(visitor.device) > 1',
		'1 / (size(visitor.channels) - 2) > 0',
		'9223372036854775807 * size(visitor.channels) > 0',
	])
		test(text, () => assert.equal(matches(text), false));

	test('a goal without a score, where the goals were not known', () => {
		assert.equal(compileRule('scores.renewal > 0.1').matches(facts), false);
	});

	test('a rule whose result does not depend on the failure still matches', () => {
		assert.equal(matches('visitor.events.buy >= 1 || visitor.visits == 2'), true);
		assert.equal(matches('visitor.visits == 2 || visitor.events.buy >= 1'), true);
	});

	test('a failure does not affect the next visitor', () => {
		const rule = compileRule('visitor.pages30d.exists(page, visitor.events[page] > 0)');
		const other = factsOf([hit(startMs, { page: 'play', events: ['play'] })], startMs);
		assert.deepEqual([facts, other, facts, other].map(rule.matches), [false, true, false, true]);
	});
});

describe('an invalid rule is refused when it is created', () => {
	const refused: [text: string, message: string][] = [
		[
			'lift("renewal") > 0.1',
			'The account has no goal \'renewal\'; its goals are subscription, return (line 1, column 6)\n  lift("renewal") > 0.1\n       ^',
		],
		[
			'lift(1) > 0.1',
			'lift() takes a goal, as lift("subscription") (line 1, column 6)\n  lift(1) > 0.1\n       ^',
		],
		[
			'lifts.subscription > 0.1',
			'There is no fact of this name: lifts; a rule says lift("GOAL") (line 1, column 1)\n  lifts.subscription > 0.1\n  ^',
		],
		['', 'Unexpected token: the end of the rule (line 1, column 1)\n  \n  ^'],
		[
			'visitor.visits >= 2 &&',
			'Unexpected token: the end of the rule (line 1, column 23)\n  visitor.visits >= 2 &&\n                        ^',
		],
		[
			'visitor.device == "mobile',
			'Unterminated string (line 1, column 19)\n  visitor.device == "mobile\n                    ^',
		],
		[
			'visitor.visist > 1',
			'There is no fact of this name: visist (line 1, column 9)\n  visitor.visist > 1\n          ^',
		],
		['customer.visits > 1', 'Unknown variable: customer (line 1, column 1)\n  customer.visits > 1\n  ^'],
		[
			'visitor.hits > 1 &&\n\tvisitor.device > 1',
			'These types do not go together: string > int (line 2, column 2)\n  \tvisitor.device > 1\n  \t^',
		],
		[
			'visitor.visits',
			'A rule must be true or false, but this one is a double (line 1, column 1)\n  visitor.visits\n  ^',
		],
		[
			'scores.renewal > 0.5',
			"The account has no goal 'renewal'; its goals are subscription, return (line 1, column 8)\n  scores.renewal > 0.5\n         ^",
		],
		['has(bands["renewal"])', 'has() invalid argument (line 1, column 5)\n  has(bands["renewal"])\n      ^'],
		[
			'bands.subscription == "High"',
			'A band is one of "low", "medium", "high" (line 1, column 23)\n  bands.subscription == "High"\n                        ^',
		],
	];
	for (const [text, message] of refused)
		test(text || 'nothing at all', () => assert.equal(refusal(text).message, message));

	test('with the place as numbers, too', () => {
		const { line, column } = refusal('true &&\n  visitor.nothing == 1');
		assert.deepEqual({ line, column }, { line: 2, column: 11 });
	});

	test('with the existing goals, or that there are none', () => {
		assert.match(refusal('percentiles["renewal"] > 1').message, /its goals are subscription, return/);
		assert.match(refusal('percentiles.renewal > 1', []).message, /it has none/);
	});
});

describe('a hostile rule', () => {
	const refused: [what: string, text: string][] = [
		['a regular expression that backtracks', 'visitor.device.matches("(a+)+$")'],
		['loops in loops', 'visitor.pages30d.all(a, visitor.pages30d.all(b, visitor.pages30d.all(c, a != b)))'],
		[
			'a loop in the list of a loop in a loop',
			'visitor.channels.all(a, visitor.channels.filter(b, b != a).all(c, true))',
		],
		['a value doubled by map', `["aaaa"]${'.map(x, x + x)'.repeat(30)} == []`],
		['a value doubled by bind', 'cel.bind(a, "aaaa", cel.bind(b, a + a, b == a))'],
		['a text joined from texts', `visitor.device${' + visitor.device'.repeat(40)} == ""`],
		['a list joined from lists', '(visitor.pages30d + visitor.pages30d).exists(page, page == "")'],
		['texts joined in a loop', 'visitor.pages30d.exists(page, page + page == "")'],
		['join and split', 'visitor.pages30d.join("").split("").size() > 0'],
		['a way around types', 'dyn(visitor).constructor == 1'],
		['what is not a fact', 'visitor.__proto__ == visitor.constructor'],
		['nesting that overflows a stack', `${'('.repeat(900)}true${')'.repeat(900)}`],
		['conditions without end', Array(150).fill('true').join('&&')],
		['a long list', `1 in [${Array(300).fill('1').join(',')}]`],
		['a long text', `visitor.device == "${'a'.repeat(1_000_000)}"`],
		['a map', '{"a": true}["a"]'],
	];
	for (const [what, text] of refused)
		test(`is refused: ${what}`, () => {
			const before = process.cpuUsage();
			refusal(text);
			assert(cpuMsSince(before) < 500);
		});

	test('that passes the checks takes a few milliseconds at worst', () => {
		const pages = Array.from({ length: 50 }, (_, index) => `${'x'.repeat(60)}${index}`);
		const crowded = factsOf(
			pages.map((page, index) => hit(startMs + index, { page, channel: page, events: [page] })),
			startMs + dayMs,
		);
		const inAll = '!("x" in visitor.pages30d) && page != "" && ';
		const searched = '!visitor.landingPage.contains(page + "") && ';
		for (const text of [
			`visitor.pages30d.all(page, ${inAll.repeat(16)} true)`,
			`visitor.pages30d.all(page, ${'visitor.pages30d == visitor.pages30d && '.repeat(24)} true)`,
			`visitor.pages30d.all(page, ${searched.replace(' + ""', '').repeat(20)} page.size() > 0) || true`,
			`visitor.pages30d${'.filter(page, page != "")'.repeat(15)}.size() == 50`,
		]) {
			const rule = compileRule(text);
			const before = process.cpuUsage();
			for (let time = 0; time < 10; time++) assert.equal(rule.matches(crowded), true, text);
			// About 1 ms each.
			assert(cpuMsSince(before) / 10 < 50, text.slice(0, 60));
		}
	});
});
