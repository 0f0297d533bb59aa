/**
 * Measures the CPU time of reading a score without HTTP, on one thread. Runs as a separate process that takes the address
 * of a database and a file of `vid`s as JSON, and prints µs of CPU as JSON.
 */
import { readFileSync } from 'node:fs';
import { openStore } from '../src/assembly/open-store.ts';
import type { Profile } from '../src/core/domain/profile.ts';
import { scorerOf } from '../src/core/scoring/serve/visitor-scorer.ts';
import { aidOf } from './upload-bodies.ts';

export interface ScoringCostInput {
	readonly address: string;
	/** A file with one `vid` per line. */
	readonly vidsPath: string;
	readonly rounds: number;
}

export interface ScoringCost {
	readonly lookUpUs: number;
	readonly scoresUs: number;
	/** Number of goals, and so of scores. */
	readonly goals: number;
	/** The version of the model of the first score. */
	readonly model: string;
}

const { address, vidsPath, rounds }: ScoringCostInput = JSON.parse(process.argv[2] as string);
const vids = readFileSync(vidsPath, 'latin1').trim().split('\n');
const store = await openStore(address, { mustExist: true });
const account = (await store.control.accessSnapshot()).accounts.get(aidOf(1));
if (!account) throw new Error(`The database has no account ${aidOf(1)}.`);
const reader = store.startReading();
const onError = (error: unknown) => {
	throw error;
};
const scorer = scorerOf(store, { reader, now: Date.now, onError });

async function cpuUs(work: () => Promise<void>): Promise<number> {
	const before = process.cpuUsage();
	await work();
	const { user, system } = process.cpuUsage(before);
	return user + system;
}

const lookUps: number[] = [];
const scorings: number[] = [];
let first = await scorer.scores(
	account,
	'vid',
	(await reader.visitor(account.id, vids[0] ?? '')) as Profile,
	false,
);
for (let round = 0; round <= rounds; round++) {
	const profiles: Profile[] = [];
	const lookUpUs = await cpuUs(async () => {
		for (const vid of vids) {
			const found = reader.visitor(account.id, vid);
			const profile = found instanceof Promise ? await found : found;
			if (profile) profiles.push(profile);
		}
	});
	const scoresUs = await cpuUs(async () => {
		for (const profile of profiles) {
			const scores = scorer.scores(account, 'vid', profile, false);
			first = scores instanceof Promise ? await scores : scores;
		}
	});
	if (profiles.length !== vids.length)
		throw new Error(`${vids.length - profiles.length} of ${vids.length} visitors were not found.`);
	// The first round is a warm-up.
	if (round === 0) continue;
	lookUps.push(lookUpUs / vids.length);
	scorings.push(scoresUs / vids.length);
}
const least = (values: readonly number[]) => Math.min(...values);
const cost: ScoringCost = {
	lookUpUs: least(lookUps),
	scoresUs: least(scorings),
	goals: first.length,
	model: first[0]?.model ?? 'none',
};
process.stdout.write(JSON.stringify(cost));
await reader.close();
await store.close();
