/** `node bench/feature-cost.ts`: what each number of a row of features costs a read, in µs of CPU. */

import { profileFeatures } from '../src/capabilities/training/rows/vocabulary.ts';
import { profileOf } from '../src/core/domain/profile.ts';
import { dayMs } from '../src/core/durations.ts';
import { profileRows } from '../src/core/scoring/rows/profile-features.ts';

const startMs = Date.UTC(2026, 9, 1);
const rowsPerRound = 20_000;
const rounds = 6;

/** A visitor with twelve visits and as many sales. */
const profile = profileOf(
	Array.from({ length: 12 }, (_, visit) => {
		const atMs = startMs + visit * dayMs;
		const [tid, channel] = [`${visit}`, ['email', 'direct', 'paid'][visit % 3] as string];
		return [
			{
				type: 'hit' as const,
				atMs,
				sid: tid,
				page: `page-${visit}`,
				channel,
				device: 'mobile',
				events: ['play'],
				tieBreak: '',
			},
			{
				type: 'subscription' as const,
				atMs: atMs + 1,
				tid,
				subid: 'one',
				evt: 'sale',
				revenuePence: 999,
			},
		];
	}).flat(),
);
if (!profile) throw new Error('a log of hits gives a profile');
const { numeric } = profileFeatures({
	page: ['page-1', 'page-11'],
	channel: ['email', 'direct'],
	event: ['play'],
	evt: ['sale'],
});

/** The cost of a row with these numbers: the least of some rounds. */
function rowCostUs(names: ReadonlySet<string>): number {
	const rowOf = profileRows({ numeric: numeric.filter(({ name }) => names.has(name)), categorical: [] });
	let least = Number.POSITIVE_INFINITY;
	for (let round = 0; round < rounds; round++) {
		const before = process.cpuUsage();
		for (let row = 0; row < rowsPerRound; row++)
			rowOf(profile as NonNullable<typeof profile>, startMs + 20 * dayMs + row);
		const { user, system } = process.cpuUsage(before);
		least = Math.min(least, (user + system) / rowsPerRound);
	}
	return least;
}

const none = rowCostUs(new Set());
const print = (name: string, costUs: number) =>
	process.stdout.write(`${name.padEnd(26)}${costUs.toFixed(2)}\n`);
print('a row without numbers', none);
print('a row with all of them', rowCostUs(new Set(numeric.map(({ name }) => name))));
for (const { name } of numeric) print(name, Math.max(0, rowCostUs(new Set([name])) - none));
