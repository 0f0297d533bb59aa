import { hash } from 'node:crypto';
import type { ExperimentGroup } from '../../../core/domain/experiment-group.ts';
import type { Participant } from '../../../core/domain/ownership.ts';
import { type Experiment, isRunning } from '../store/experiment.ts';
import { type HashKey, keyedHash } from './keyed-hash.ts';

/**
 * Who is drawn, as 32 hexadecimal digits: the customer whom a visitor had shown when the experiment began, on whatever device,
 * else the visitor. So nobody's group changes while it runs, and nobody decides the group of somebody else by showing a
 * customer first.
 */
export function personIn({ fromMs }: Pick<Experiment, 'fromMs'>, { vid, customer }: Participant): string {
	if (!customer || customer.atMs >= fromMs) return vid;
	return hash('sha256', `customer ${customer.cid}`, 'hex').slice(0, 32);
}

/** A visitor's draw in an experiment. */
export interface Draw {
	readonly group: ExperimentGroup;
	/** 32 random bits that decide nothing; for counting distinct visitors without naming them. */
	readonly bits: number;
}

const keys = new WeakMap<Experiment, HashKey>();

/**
 * Draws a visitor's group by a keyed hash: always the same one, on every server, and nobody without the secret can tell it.
 * @param person see `personIn`
 */
export function drawOf(experiment: Experiment, person: string): Draw {
	const [lot, bits] = keyedHash(keyOf(experiment), wordsOf(person));
	const isHeldOut = (lot >>> 0) / 2 ** 32 < experiment.holdoutPercent / 100;
	return { group: isHeldOut ? 'holdout' : 'treated', bits };
}

function keyOf(experiment: Experiment): HashKey {
	let key = keys.get(experiment);
	if (!key) {
		const bytes = Buffer.from(experiment.secret, 'base64url');
		key = [bytes.readInt32LE(0), bytes.readInt32LE(4)];
		keys.set(experiment, key);
	}
	return key;
}

/** Of the latest visitor: many experiments ask about one after the other. */
let latest: { readonly vid: string; readonly words: readonly number[] } = { vid: '', words: [] };

/** @param vid of a visitor, or what stands for a customer: 32 hexadecimal digits */
function wordsOf(vid: string): readonly number[] {
	if (latest.vid !== vid)
		latest = {
			vid,
			words: [0, 8, 16, 24].map((place) => Number.parseInt(vid.slice(place, place + 8), 16)),
		};
	return latest.words;
}

/** The ids of segments that running experiments hide from a visitor. */
export function heldOutOf(
	experiments: readonly Experiment[],
	participant: Participant,
	nowMs: number,
): Set<string> {
	const hiding = experiments.filter(
		(experiment) =>
			isRunning(experiment, nowMs) &&
			drawOf(experiment, personIn(experiment, participant)).group === 'holdout',
	);
	return new Set(hiding.map(({ segment }) => segment));
}
