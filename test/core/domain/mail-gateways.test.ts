import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { areMachines, burstsIn } from '../../../src/core/domain/mail-gateways.ts';
import { minuteMs } from '../../../src/core/durations.ts';
import { seededRandom } from '../../../src/kit/random.ts';

const hourMs = 60 * minuteMs;

interface Person {
	readonly atMs: number;
	readonly goesOn: boolean;
}

/** Who comes by a mailing, and who of them is taken for a machine. */
function takenForMachines(people: readonly Person[]): { people: number; taken: number } {
	const arrivals = people
		.map(({ atMs, goesOn }, number) => ({ atMs, vid: `${number}`, goesOn }))
		.sort((a, b) => a.atMs - b.atMs);
	const goesOn = new Set(arrivals.filter((one) => one.goesOn).map(({ vid }) => vid));
	let taken = 0;
	for (const burst of burstsIn(arrivals)) {
		const wentOn = burst.filter(({ vid }) => goesOn.has(vid)).length;
		if (areMachines(burst.length, wentOn)) taken += burst.length - wentOn;
	}
	return { people: people.length, taken };
}

/** Moments of a Poisson process whose rate changes, by thinning. */
function moments(
	random: () => number,
	lengthMs: number,
	maxPerSecond: number,
	rate: (share: number) => number,
) {
	const all: number[] = [];
	for (let atMs = 0; ; ) {
		atMs += (-Math.log(1 - random()) / maxPerSecond) * 1000;
		if (atMs >= lengthMs) return all.map(Math.floor);
		if (random() < rate(atMs / lengthMs)) all.push(atMs);
	}
}

const shapes: Record<string, (random: () => number) => number[]> = {
	'an office of 60 that reads one newsletter over an hour': (random) =>
		moments(random, hourMs, 60 / 3600, () => 1),
	'an office of 60 that is told of it in a meeting, and opens it within two minutes': (random) =>
		moments(random, 2 * minuteMs, 0.5, () => 1),
	'a launch: ten a second at its height, falling over an hour': (random) =>
		moments(random, hourMs, 10, (share) => Math.min(share / 0.02, Math.exp(-6 * share))),
	'a flash sale: 3,000 within a minute': (random) => moments(random, minuteMs, 50, () => 1),
	'a countdown: nobody, then forty a second for ten minutes': (random) =>
		moments(random, 10 * minuteMs, 40, (share) => (share < 0.3 ? 0 : 1)),
	'a mailing that is delivered in ten waves': (random) =>
		moments(random, hourMs, 5, (share) => Math.exp(-20 * ((share * 10) % 1))),
};

describe('people are not taken for machines', () => {
	for (const [what, shape] of Object.entries(shapes))
		for (const bounces of [0.5, 0.7, 0.8])
			test(`${what}, ${100 * bounces} % of whom see one page`, () => {
				let [people, taken] = [0, 0];
				for (let seed = 1; seed <= 20; seed++) {
					const random = seededRandom(seed);
					const came = shape(random).map((atMs) => ({ atMs, goesOn: random() >= bounces }));
					const one = takenForMachines(came);
					people += one.people;
					taken += one.taken;
				}
				assert.ok(people > 500);
				assert.ok(taken <= people / 1000, `${taken} of ${people}`);
			});

	test('even where 95 of 100 see one page, if they do not come at once out of nothing', () => {
		for (const [what, shape] of Object.entries(shapes)) {
			if (what.startsWith('a countdown') || what.startsWith('a flash sale')) continue;
			const random = seededRandom(7);
			const came = shape(random).map((atMs) => ({ atMs, goesOn: random() >= 0.95 }));
			assert.equal(takenForMachines(came).taken, 0, what);
		}
	});
});

describe('machines are', () => {
	const machines = (random: () => number, visitors: number, lengthMs: number, fromMs: number) =>
		Array.from({ length: visitors }, () => ({
			atMs: fromMs + Math.floor(random() * lengthMs),
			goesOn: false,
		}));
	const readers = (random: () => number) =>
		moments(random, 10 * hourMs, 40 / 36_000, () => 1).map((atMs) => ({ atMs, goesOn: random() > 0.6 }));

	for (const [visitors, lengthMs] of [
		[31, 2000],
		[60, 1000],
		[400, 2000],
		[400, 10],
		[5000, 20_000],
	] as const)
		test(`${visitors} within ${lengthMs} ms, among 40 readers`, () => {
			for (let seed = 1; seed <= 20; seed++) {
				const random = seededRandom(seed);
				const came = [...readers(random), ...machines(random, visitors, lengthMs, 5 * hourMs)];
				const { taken } = takenForMachines(came);
				assert.ok(taken >= visitors && taken <= visitors + 2, `${taken}`);
			}
		});

	test('in several bursts of one mailing', () => {
		const random = seededRandom(3);
		const came = [0, 20, 40].flatMap((second) => machines(random, 300, 2000, second * 1000));
		assert.equal(takenForMachines(came).taken, 900);
	});

	test('but not fewer than 31, nor for longer than half a minute', () => {
		const random = seededRandom(3);
		assert.equal(takenForMachines(machines(random, 30, 1000, 0)).taken, 0);
		assert.equal(takenForMachines(machines(random, 4000, 40_000, 0)).taken, 0);
	});
});

test('the chance is that of the binomial distribution', () => {
	for (const visitors of [1, 31, 60, 200])
		for (let wentOn = 0; wentOn <= 20; wentOn++) {
			// Pascal's triangle, in fractions.
			let chances = [1];
			for (let one = 0; one < visitors; one++)
				chances = Array.from(
					{ length: chances.length + 1 },
					(_, place) => 0.8 * (chances[place] ?? 0) + 0.2 * (chances[place - 1] ?? 0),
				);
			const chance = chances.slice(0, wentOn + 1).reduce((sum, one) => sum + one, 0);
			assert.equal(areMachines(visitors, wentOn), chance <= 0.001, `${wentOn} of ${visitors}: ${chance}`);
		}
	assert.ok(areMachines(1_000_000, 100_000));
	assert.ok(!areMachines(1_000_000, 300_000));
});
