import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drawOf } from '../../../../src/capabilities/experiments/domain/draw.ts';
import { keyedHash } from '../../../../src/capabilities/experiments/domain/keyed-hash.ts';
import type { Experiment } from '../../../../src/capabilities/experiments/store/experiment.ts';

/** `vectors_hsip64` of the authors' reference implementation, for keys and messages of 00 01 02 …, by their length in bytes. */
const vectors: Readonly<Record<number, string>> = {
	0: '218d1f59b9b83cc8',
	4: 'd5e78a175be52ea1',
	8: 'edfee820bce4858c',
	12: '7bc71f9faef5c799',
	16: '7336aad25f7bf3b5',
	60: 'd6762890bf26e460',
};

test('the hash is HalfSipHash-2-4 with an output of 64 bits', () => {
	const bytes = Buffer.from(Array.from({ length: 64 }, (_, number) => number));
	for (const [length, expected] of Object.entries(vectors)) {
		const words = Array.from({ length: Number(length) / 4 }, (_, place) => bytes.readInt32LE(place * 4));
		const [first, second] = keyedHash([bytes.readInt32LE(0), bytes.readInt32LE(4)], words);
		const hash = Buffer.alloc(8);
		hash.writeInt32LE(first);
		hash.writeInt32LE(second, 4);
		assert.equal(hash.toString('hex'), expected);
	}
});

const experimentWith = (secret: Buffer, holdoutPercent: number): Experiment => ({
	name: 'offer',
	segment: 'new',
	rule: 'true',
	goal: 'subscription',
	holdoutPercent,
	secret: secret.toString('base64url'),
	fromMs: 0,
	toMs: null,
	stoppedAtMs: null,
});

test('draws have the share that was asked for, and experiments are independent of each other', () => {
	// Keys that differ in one bit, and visitors that count up: what a weak hash would show first.
	const experiments = [0, 1, 2, 3].map((bit) => {
		const secret = Buffer.alloc(32, 7);
		secret[bit] = 7 ^ (1 << bit);
		return experimentWith(secret, 20);
	});
	const visitors = 40_000;
	const held = experiments.map((experiment) =>
		Array.from(
			{ length: visitors },
			(_, visitor) => drawOf(experiment, visitor.toString(16).padStart(32, '0')).group === 'holdout',
		),
	);
	const shareOf = (all: readonly boolean[]) => all.filter(Boolean).length / visitors;
	for (const own of held) assert.ok(Math.abs(shareOf(own) - 0.2) < 5 * Math.sqrt((0.2 * 0.8) / visitors));
	for (const [one, own] of held.entries())
		for (const other of held.slice(one + 1)) {
			const both = shareOf(own.map((isHeld, visitor) => isHeld && (other[visitor] as boolean)));
			assert.ok(Math.abs(both - 0.04) < 5 * Math.sqrt((0.04 * 0.96) / visitors), `${both} are in both`);
		}
});
