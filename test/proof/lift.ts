/**
 * `npm run proof:lift` simulates experiments whose truth is known, with fixed seeds, and says how often their intervals were
 * right: 2,000 without an effect that somebody looks at every day, others with one, with and without the score at entry, planned
 * ones, and some whose assignment is broken. `test/capabilities/experiments/reports/lift-estimate.test.ts` is the short form.
 */
import { isMismatched, visitorsNeeded } from '../../src/capabilities/experiments/reports/lift-estimate.ts';
import {
	baseRate,
	drawnGroups,
	type Simulated,
	simulate,
} from '../capabilities/reports/simulated-experiments.ts';

const daily: Simulated = {
	holdoutShare: 0.1,
	visitorsADay: 100,
	days: 120,
	relativeLift: 0,
	outcome: 'conversion',
};
const problems: string[] = [];
const expect = (isSo: boolean, what: string) => {
	if (!isSo) problems.push(what);
};

const settings: Readonly<Record<string, Simulated>> = {
	'conversions, 10 % held out': daily,
	'conversions, 50 % held out': { ...daily, holdoutShare: 0.5 },
	'pence, 10 % held out': { ...daily, outcome: 'pence' },
	'pence, 50 % held out, by score': { ...daily, outcome: 'pence', holdoutShare: 0.5, isAdjusted: true },
	'conversions, 10 %, by score': { ...daily, isAdjusted: true },
};
const shownOf = (relativeLift: number, experiments: number) =>
	Object.fromEntries(
		Object.entries(settings).map(([name, setting]) => [
			name,
			simulate({ ...setting, relativeLift }, experiments),
		]),
	);
const rounded = (of: object) =>
	Object.fromEntries(Object.entries(of).map(([name, value]) => [name, Number(value.toPrecision(3))]));
const table = (of: Readonly<Record<string, object>>) =>
	console.table(Object.fromEntries(Object.entries(of).map(([name, one]) => [name, rounded(one)])));

console.log('2,000 experiments without an effect, looked at every day');
const withoutEffect = {
	...shownOf(0, 2000),
	'pence with renewals, 50 % held out': simulate({ ...daily, outcome: 'renewals', holdoutShare: 0.5 }, 2000),
};
table(withoutEffect);
for (const [name, { everAnytime, everOrdinary }] of Object.entries(withoutEffect)) {
	expect(everAnytime <= 0.05, `${name}: ${everAnytime} were ever significant`);
	expect(everOrdinary > 0.1, `${name}: by ordinary intervals only ${everOrdinary}`);
}

console.log('1,000 experiments in which chances rise by a fifth');
const withEffect = shownOf(0.2, 1000);
table(withEffect);
for (const [name, { coveredAlways, coveredLastOrdinary }] of Object.entries(withEffect)) {
	expect(coveredAlways >= 0.95, `${name}: ${coveredAlways} had the truth inside at every look`);
	expect(coveredLastOrdinary >= 0.935, `${name}: ordinary ${coveredLastOrdinary}`);
}
const [plain, byScore] = ['conversions, 10 % held out', 'conversions, 10 %, by score'].map(
	(name) => withEffect[name],
);
if (plain && byScore) {
	const shorter = 1 - (byScore.length / plain.length) ** 2;
	console.log(`By score: ${byScore.varianceReduction} less variance said, ${shorter} seen`);
	expect(Math.abs(shorter - byScore.varianceReduction) < 0.02, 'the adjustment does not do what is said');
}

console.log('Planned for a power of 80 %, 1,000 experiments each');
const planned = Object.fromEntries(
	(['ordinary', 'anytime'] as const).flatMap((interval) =>
		[0.1, 0.5].map((holdoutShare) => {
			const wanted = { rate: baseRate, relativeLift: 0.2, holdoutShare };
			const visitors = visitorsNeeded(wanted, interval);
			const days = 20;
			const shown = simulate(
				{ ...daily, holdoutShare, relativeLift: 0.2, days, visitorsADay: Math.ceil(visitors / days) },
				1000,
				5000,
			);
			const power = interval === 'ordinary' ? shown.lastOrdinary : shown.lastAnytime;
			const name = `${interval}, ${holdoutShare}`;
			expect(Math.abs(power - 0.8) < 0.05, `${name}: a power of ${power}`);
			return [name, { visitors, power, everByThen: shown.everAnytime }];
		}),
	),
);
table(planned);

console.log(
	'100 experiments whose assignment loses 2 % of the held-out, and 1,000 that lose none: how many are told',
);
const told = (experiments: number, visitors: number, holdoutPercent: number, lost: number) => {
	let count = 0;
	for (let seed = 1; seed <= experiments; seed++) {
		const { treated, holdout } = drawnGroups(visitors, { holdoutPercent, lost, seed });
		if (isMismatched(treated, holdout, holdoutPercent / 100)) count++;
	}
	return count / experiments;
};
const broken = {
	'50 %, 50,000 visitors': told(100, 50_000, 50, 0.02),
	'50 %, 200,000 visitors': told(100, 200_000, 50, 0.02),
	'10 %, 200,000 visitors': told(100, 200_000, 10, 0.02),
	'10 %, 600,000 visitors': told(50, 600_000, 10, 0.02),
	'50 %, 20,000 visitors, nothing lost': told(1000, 20_000, 50, 0),
};
console.table(broken);
expect(broken['50 %, 200,000 visitors'] >= 0.8, 'a broken assignment is not seen');
expect(broken['50 %, 20,000 visitors, nothing lost'] <= 0.004, 'false alarms');

for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
