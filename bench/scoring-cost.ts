/**
 * What reading a score costs inside the service, without HTTP: a program of its own, on one thread. Takes the address
 * of a place with visitors, and `vid`s, as JSON, prints microseconds of CPU as JSON.
 */
import { readFileSync } from 'node:fs';
import type { Profile } from '../src/domain/profile.ts';
import { scorerOf } from '../src/scoring/visitor-scorer.ts';
import { openStore } from '../src/store/open.ts';
import { aidOf } from './rows.ts';

export interface ScoringCostInput {
	readonly address: string;
	/** A file, one a line. */
	readonly vidsPath: string;
	readonly rounds: number;
}

export interface ScoringCost {
	readonly lookUpUs: number;
	readonly scoresUs: number;
	readonly goals: number;
	/** Of its first score. */
	readonly model: string;
}

const { address, vidsPath, rounds }: ScoringCostInput = JSON.parse(process.argv[2] as string);
const vids = readFileSync(vidsPath, 'latin1').trim().split('\n');
const store = await openStore(address, { mustExist: true });
const account = (await store.control.accessSnapshot()).accounts.get(aidOf(1));
if (!account) throw new Error('The place has no account.');
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
		throw new Error(`${vids.length - profiles.length} visitors are missing.`);
	// The first warms up.
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
