import { seededRandom } from '../../src/kit/random.ts';
import {
	plans,
	projectionsOf,
	ratesOf,
	simulate,
	trouble,
} from '../capabilities/reports/simulated-business.ts';

/**
 * `node test/proof/subscriptions.ts [businesses]` compares churn and renewals that reports tell of simulated businesses with
 * their truth, for each plan and channel, and what is projected with what comes.
 */

const businesses = Number(process.argv[2] ?? 20);
const kinds = {
	'no trouble': { ...trouble, late: 0, missing: 0, early: 0, pause: 0, refund: 0, rise: 0 },
	'late, early, paused, refunded, prices rise': { ...trouble, missing: 0 },
	'and one in a hundred renewals is never sent': trouble,
	'two in a hundred': { ...trouble, missing: 0.02 },
};
for (const [kind, its] of Object.entries(kinds))
	for (const days of [500, 900]) {
		const worst = new Map<string, number>();
		const all: number[] = [];
		for (let seed = 1; seed <= businesses; seed++) {
			const simulated = simulate(plans, its, { subscriptions: 6000, days, random: seededRandom(seed) });
			for (const { what, told, truth, of } of ratesOf(simulated, days)) {
				// A rate of fewer differs by chance.
				if (of < 200) continue;
				const error = Math.abs(told - truth);
				all.push(error);
				worst.set(what, Math.max(worst.get(what) ?? 0, error));
			}
		}
		const [[what, most] = ['', 0]] = [...worst].sort(([, a], [, b]) => b - a);
		const within = all.filter((error) => error <= 0.02).length / all.length;
		console.log(
			`${kind}, ${days} days: ${all.length} rates, ${(100 * within).toFixed(1)} % within 2 points; the worst ${(100 * most).toFixed(2)} points (${what})`,
		);
	}
for (const day of [400, 600]) {
	const all = Array.from({ length: businesses }, (_, seed) => {
		const its = { ...trouble, riseDay: 100 };
		const random = seededRandom(seed + 1);
		return projectionsOf(simulate(plans, its, { subscriptions: 6000, days: 1000, random }), day);
	}).flat();
	const some = all.filter(({ pence }) => pence > 10_000);
	const within = some.filter(({ came, lowPence, highPence }) => came >= lowPence && came <= highPence);
	const sum = (of: 'pence' | 'came') => some.reduce((total, one) => total + one[of], 0);
	console.log(
		`projected on day ${day}: ${within.length} of ${some.length} within the bounds, ${(sum('pence') / sum('came')).toFixed(3)} of what came`,
	);
}
