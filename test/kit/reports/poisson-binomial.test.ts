import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../../src/kit/random.ts';
import { countBounds } from '../../../src/kit/reports/poisson-binomial.ts';

/** By all outcomes of every trial. */
function boundsByHand(chances: readonly number[]) {
	const probabilities = new Array<number>(chances.length + 1).fill(0);
	for (let outcomes = 0; outcomes < 2 ** chances.length; outcomes++) {
		let [probability, count] = [1, 0];
		for (const [place, chance] of chances.entries()) {
			const came = (outcomes >> place) & 1;
			count += came;
			probability *= came ? chance : 1 - chance;
		}
		probabilities[count] = (probabilities[count] as number) + probability;
	}
	const sum = (some: readonly number[]) => some.reduce((all, one) => all + one, 0);
	const counts = [...probabilities.keys()];
	return {
		low: counts.find((count) => sum(probabilities.slice(0, count + 1)) > 0.025),
		high: counts.findLast((count) => sum(probabilities.slice(count)) > 0.025),
	};
}

test('the bounds of a count are those of all outcomes of unequal chances', () => {
	const random = seededRandom(5);
	for (let number = 0; number <= 12; number++) {
		const chances = Array.from({ length: number }, () => random() ** 2);
		assert.deepEqual(countBounds(chances), boundsByHand(chances), chances.join(' '));
	}
	assert.deepEqual(countBounds([1, 1, 0]), { low: 2, high: 2 });
	assert.deepEqual(countBounds([]), { low: 0, high: 0 });
});

test('counts by the chances leave the bounds in about one of twenty cases, and seldom by much', () => {
	const random = seededRandom(6);
	let [outside, all] = [0, 0];
	for (let set = 0; set < 20; set++) {
		const chances = Array.from({ length: 400 }, () => 0.3 * random());
		const { low, high } = countBounds(chances);
		for (let week = 0; week < 100; week++, all++) {
			const count = chances.filter((chance) => random() < chance).length;
			if (count < low || count > high) outside++;
		}
	}
	assert.ok(outside / all > 0.025 && outside / all < 0.055, String(outside / all));
});

test('many chances take little time', () => {
	const chances = Array.from({ length: 20_000 }, (_, place) => (place % 10) / 10);
	const { low, high } = countBounds(chances);
	const deviation = Math.sqrt(chances.reduce((sum, chance) => sum + chance * (1 - chance), 0));
	assert.ok(Math.abs((high - low) / 2 - 1.96 * deviation) < 1.5, `${low} to ${high}`);
	assert.ok(Math.abs((high + low) / 2 - 9000) < 1, `${low} to ${high}`);
});
