import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type AttributionOptions, attribute } from '../../../src/capabilities/reports/attribution.ts';
import { MarkovChain } from '../../../src/capabilities/reports/markov.ts';
import { dayMs } from '../../../src/core/durations.ts';
import { seededRandom } from '../../../src/kit/random.ts';
import { apportion } from '../../../src/kit/reports/apportion.ts';
import { attributionModels, pathModels, weightsOf } from '../../../src/kit/reports/attribution-model.ts';
import { countedSteps } from '../../../src/kit/reports/journey.ts';
import { examples } from '../../quick.ts';
import { allTime, day0Ms, journey, lostPaths, madeUpJourneys, madeUpLost, touch } from './made-up.ts';

const options = (fields: Partial<AttributionOptions> = {}): AttributionOptions => ({
	by: ['channel'],
	models: attributionModels,
	period: allTime,
	basis: 'event',
	halfLifeDays: 7,
	intervals: false,
	random: seededRandom(1),
	...fields,
});

test('the weights of a path add up to 1', () => {
	const touches = fc.array(fc.tuple(fc.nat(9), fc.integer({ min: 0, max: 365 * dayMs }), fc.boolean()), {
		minLength: 1,
		maxLength: 60,
	});
	fc.assert(
		fc.property(touches, fc.constantFrom(...pathModels), (given, model) => {
			const sorted = given.sort(([, a], [, b]) => b - a);
			const weights = weightsOf(model, {
				labels: sorted.map(([label]) => label),
				agesMs: sorted.map(([, ageMs]) => ageMs),
				isDirect: sorted.map(([, , isDirect]) => isDirect),
			});
			assert.equal(weights.length, given.length);
			assert.ok(weights.every((weight) => weight >= 0));
			assert.ok(Math.abs(weights.reduce((sum, weight) => sum + weight, 0) - 1) < 1e-12);
		}),
	);
});

test('models weight touches as documented', () => {
	const path = {
		labels: [0, 1, 2, 3],
		agesMs: [14, 7, 0, 0].map((d) => d * dayMs),
		isDirect: [false, false, true, true],
	};
	assert.deepEqual(weightsOf('first', path), [1, 0, 0, 0]);
	assert.deepEqual(weightsOf('last', path), [0, 0, 0, 1]);
	assert.deepEqual(weightsOf('last-non-direct', path), [0, 1, 0, 0]);
	assert.deepEqual(
		weightsOf('last-non-direct', { ...path, isDirect: path.labels.map(() => true) }),
		[0, 0, 0, 1],
	);
	assert.deepEqual(weightsOf('linear', path), [0.25, 0.25, 0.25, 0.25]);
	assert.deepEqual(
		weightsOf('decay', path),
		[1, 2, 4, 4].map((part) => part / 11),
	);
	assert.deepEqual(
		weightsOf('decay', path, 14),
		[0.5, Math.SQRT1_2, 1, 1].map((part) => part / (2.5 + Math.SQRT1_2)),
	);
	assert.deepEqual(weightsOf('position', path), [0.4, 0.1, 0.1, 0.4]);
	assert.deepEqual(
		weightsOf('position', { labels: [0, 1], agesMs: [1, 0], isDirect: [false, false] }),
		[0.5, 0.5],
	);
	assert.deepEqual(weightsOf('position', { labels: [0], agesMs: [0], isDirect: [false] }), [1]);
	assert.deepEqual(weightsOf('linear', { labels: [], agesMs: [], isDirect: [] }), []);
});

test('a number is split exactly, even below zero', () => {
	const parts = fc
		.array(fc.nat(1000), { minLength: 1, maxLength: 30 })
		.filter((given) => given.some((part) => part > 0));
	fc.assert(
		fc.property(fc.integer({ min: -1_000_000_000, max: 1_000_000_000 }), parts, (total, given) => {
			const sum = given.reduce((all, part) => all + part, 0);
			const split = apportion(
				total,
				given.map((part) => part / sum),
			);
			assert.equal(
				split.reduce((all, part) => all + part, 0),
				total,
			);
			for (const [index, part] of split.entries())
				assert.ok(Math.abs(part - (total * (given[index] as number)) / sum) <= 1);
		}),
	);
});

test('every column of every model adds up to the stored total, in any period', () => {
	const period = fc.tuple(fc.integer({ min: 60, max: 400 }), fc.integer({ min: 60, max: 400 }));
	fc.assert(
		fc.property(
			madeUpJourneys,
			madeUpLost,
			period,
			fc.constantFrom('event', 'cohort'),
			(journeys, lost, days, basis) => {
				const [from, to] = days.sort((a, b) => a - b).map((day) => day0Ms + day * dayMs) as [number, number];
				const reported = { fromMs: from, toMs: to };
				const made = attribute(journeys, { lost }, options({ period: reported, basis }));
				const { totals, rows } = made;
				const steps = journeys.flatMap(({ subscription }) => countedSteps(subscription, reported, basis));
				const stored = steps.reduce((sum, { revenuePence }) => sum + revenuePence, 0);
				assert.equal(totals.netPence, stored);
				assert.deepEqual(
					pathModels.filter((model) => !made.models.includes(model)),
					[],
				);
				for (const model of made.models)
					for (const column of [
						'subscriptions',
						'acquisitionPence',
						'renewalPence',
						'refundPence',
						'netPence',
					] as const) {
						const sum = rows.reduce((all, row) => all + (row.models[model]?.[column] ?? 0), 0);
						assert.ok(
							Math.abs(sum - totals[column]) < 1e-6,
							`${model} ${column}: ${sum} of ${totals[column]}`,
						);
					}
			},
		),
	);
});

test('a removal effect equals the conversions lost without the channel', () => {
	const labels = 5;
	const path = fc.array(fc.nat(labels - 1), { minLength: 1, maxLength: 6 });
	const paths = fc.array(
		fc.record({ path, converted: fc.boolean(), times: fc.integer({ min: 1, max: 9 }) }),
		{
			minLength: 1,
			maxLength: 12,
		},
	);
	fc.assert(
		fc.property(paths, (given) => {
			const chain = new MarkovChain(labels);
			for (const one of given) chain.addPath(one.path, one.converted, one.times);
			const whole = conversionRate(given, labels);
			for (const [label, effect] of chain.removalEffects().entries()) {
				const expected = whole === 0 ? 0 : 1 - conversionRate(given, labels, label) / whole;
				assert.ok(Math.abs(effect - expected) < 1e-6, `${effect} is not ${expected}`);
			}
		}),
		{ numRuns: examples(50) },
	);
});

/** By going on until nobody is on the way any more. */
function conversionRate(
	paths: readonly { path: readonly number[]; converted: boolean; times: number }[],
	labels: number,
	removed?: number,
): number {
	const counts = Array.from({ length: labels + 1 }, () => new Float64Array(labels + 2));
	for (const { path, converted, times } of paths) {
		const states = [labels, ...path, converted ? labels : labels + 1];
		for (const [place, to] of states.slice(1).entries())
			((counts[states[place] as number] as Float64Array)[to] as number) += times;
	}
	let there = new Float64Array(labels);
	let converted = 0;
	const go = (from: Float64Array, part: number) => {
		const total = from.reduce((sum, count) => sum + count, 0);
		const next = from.map((count) => (total === 0 ? 0 : (part * count) / total));
		converted += next[labels] as number;
		return next.subarray(0, labels).map((value, label) => (label === removed ? 0 : value));
	};
	there = go(counts[labels] as Float64Array, 1);
	for (let step = 0; step < 3000 && there.some((part) => part > 1e-12); step++) {
		const next = new Float64Array(labels);
		for (const [label, part] of there.entries())
			if (part > 0)
				for (const [to, value] of go(counts[label] as Float64Array, part).entries())
					(next[to] as number) += value;
		there = next;
	}
	return converted;
}

/** Small enough to work out by hand. */
const example = [
	journey(
		'A',
		[
			[20, 500],
			[50, 500],
		],
		[touch('email', 1), touch('direct', 20)],
	),
	journey(
		'B',
		[
			[21, 1000],
			[30, -250],
		],
		[touch('paid search', 7), touch('email', 14), touch('email', 21)],
	),
	journey('C', [[22, 499]]),
];

test('a small example is right in every model', () => {
	const { totals, rows, warnings } = attribute(
		example,
		{ lost: lostPaths([{ labels: ['paid search'], visitors: 2 }]) },
		options(),
	);
	assert.deepEqual(totals, {
		subscriptions: 3,
		trials: 0,
		acquisitionPence: 1999,
		renewalPence: 500,
		refundPence: -250,
		netPence: 2249,
	});
	const column = (model: (typeof attributionModels)[number]) =>
		Object.fromEntries(
			rows.map((row) => [row.channel, [row.models[model]?.subscriptions, row.models[model]?.netPence]]),
		);
	assert.deepEqual(column('first'), {
		email: [1, 1000],
		'paid search': [1, 750],
		'(none)': [1, 499],
		direct: [0, 0],
	});
	assert.deepEqual(column('last-non-direct'), {
		email: [2, 1750],
		'(none)': [1, 499],
		direct: [0, 0],
		'paid search': [0, 0],
	});
	assert.deepEqual(column('linear'), {
		email: [1.1667, 1000],
		'(none)': [1, 499],
		direct: [0.5, 500],
		'paid search': [0.3333, 250],
	});
	assert.deepEqual(column('position'), {
		email: [1.1, 950],
		'(none)': [1, 499],
		direct: [0.5, 500],
		'paid search': [0.4, 300],
	});
	// P = 1/4 + 3/4·1/3 = 1/2; without email it is 0, without direct 1/4, without paid search 1/4.
	assert.deepEqual(column('markov'), {
		email: [1, 833],
		'(none)': [1, 499],
		direct: [0.5, 500],
		'paid search': [0.5, 417],
	});
	assert.deepEqual(
		rows.map(({ channel, assistRatio }) => [channel, assistRatio]),
		[
			...[
				['email', 1],
				['paid search', null],
				['(none)', 0],
				['direct', 0],
			],
		],
	);
	assert.deepEqual(warnings, [
		'The Markov model rests on 2 subscriptions. With fewer than 300, do not rely on it.',
	]);
});

test('without dimensions there is one row', () => {
	const { rows } = attribute(
		example,
		{ lost: lostPaths([{ labels: [''], visitors: 1 }]) },
		options({ by: [] }),
	);
	assert.equal(rows.length, 1);
	assert.equal(rows[0]?.channel, undefined);
	for (const model of attributionModels) assert.equal(rows[0]?.models[model]?.netPence, 2249);
});

test('values beyond the two hundred most frequent share one row', () => {
	const many = Array.from({ length: 300 }, (_, number) =>
		journey(`S-${number}`, [[9, 100]], [touch(`channel ${number % 250}`, 5)]),
	);
	const { rows } = attribute(many, { lost: lostPaths() }, options({ models: ['linear'] }));
	assert.equal(rows.length, 200);
	assert.equal(rows.find(({ channel }) => channel === '(other)')?.models.linear?.subscriptions, 51);
});

test('intervals contain the credited value, and are the same for the same seed', () => {
	const journeys = Array.from({ length: 400 }, (_, number) =>
		journey(
			`S-${number}`,
			[[9, 100]],
			[touch(['email', 'social', 'direct'][number % 3] as string, 5), touch('email', 6)],
		),
	);
	const lost = lostPaths([
		{ labels: ['social'], visitors: 500 },
		{ labels: ['email'], visitors: 100 },
	]);
	const report = () =>
		attribute(journeys, { lost }, options({ models: ['markov'], intervals: true, random: seededRandom(7) }));
	const { rows, warnings } = report();
	for (const {
		models: { markov },
	} of rows) {
		const { low = Number.NaN, high = Number.NaN, subscriptions = Number.NaN } = markov ?? {};
		assert.ok(low <= subscriptions && subscriptions <= high, `${low} ${subscriptions} ${high}`);
		assert.ok(high - low > 0.5 && high - low < 80, `${low} to ${high}`);
	}
	assert.deepEqual(warnings, []);
	assert.deepEqual(report().rows, rows);
});
