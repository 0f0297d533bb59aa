import { drawOf } from '../../../src/capabilities/experiments/domain/draw.ts';
import {
	type Difference,
	differenceOf,
	GroupSums,
} from '../../../src/capabilities/experiments/reports/lift-estimate.ts';
import type { Experiment } from '../../../src/capabilities/experiments/store/experiment.ts';
import { dayMs } from '../../../src/core/durations.ts';
import { seededRandom } from '../../../src/kit/random.ts';

/** An experiment whose truth is known. */
export interface Simulated {
	readonly holdoutShare: number;
	readonly visitorsADay: number;
	readonly days: number;
	/** By which part serving the segment raises each visitor's chance. */
	readonly relativeLift: number;
	/**
	 * What is compared: whether visitors reach the goal; what they pay, which has a heavy tail; or that with renewals every thirty days,
	 * which arrive while others enter.
	 */
	readonly outcome: 'conversion' | 'pence' | 'renewals';
	/** Whether the score at entry is used. */
	readonly isAdjusted?: boolean;
}

export const meanPence = 1500;
const [leastChance, mostChance] = [0.02, 0.62];
/** The mean chance of those who are held out: u⁴ has a mean of ⅕. */
export const baseRate = leastChance + (mostChance - leastChance) / 5;

/** What the report would say at the end of each day; undefined while there are too few visitors. */
export function looksOf(
	{ holdoutShare, visitorsADay, days, relativeLift, outcome, isAdjusted = false }: Simulated,
	seed: number,
): (Difference | undefined)[] {
	const random = seededRandom(seed);
	const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
	let [treated, holdout] = [new GroupSums(), new GroupSums()];
	const add = ({ brought, score, isHeldOut }: Simulant) =>
		(isHeldOut ? holdout : treated).add(brought, isAdjusted ? score : 0);
	const subscribers = Array.from({ length: days }, (): Simulant[] => []);
	const all: Simulant[] = [];
	return Array.from({ length: days }, (_, day) => {
		for (let visitor = 0; visitor < visitorsADay; visitor++) {
			const score = leastChance + (mostChance - leastChance) * random() ** 4;
			const isHeldOut = random() < holdoutShare;
			const isConverted = random() < score * (isHeldOut ? 1 : 1 + relativeLift);
			// Log-normal, with a standard deviation of 1.3 times the mean.
			const paid = isConverted && outcome !== 'conversion' ? meanPence * Math.exp(normal() - 0.5) : 0;
			const one = { score, isHeldOut, paid, brought: outcome === 'conversion' ? Number(isConverted) : paid };
			if (outcome === 'renewals') {
				all.push(one);
				if (isConverted) subscribers[day]?.push(one);
			} else add(one);
		}
		if (outcome === 'renewals') {
			for (let before = day - 30; before >= 0; before -= 30) {
				const due = subscribers[before] as Simulant[];
				subscribers[before] = due.filter(() => random() < 0.8);
				for (const one of subscribers[before] as Simulant[]) one.brought += one.paid;
			}
			[treated, holdout] = [new GroupSums(), new GroupSums()];
			for (const one of all) add(one);
		}
		return differenceOf(treated, holdout, holdoutShare);
	});
}

/** A visitor of a simulated experiment. */
interface Simulant {
	readonly score: number;
	readonly isHeldOut: boolean;
	readonly paid: number;
	brought: number;
}

/** The true difference of the means; of renewals, where there is no effect. */
export function truthOf({ relativeLift, outcome }: Simulated): number {
	return baseRate * relativeLift * (outcome === 'conversion' ? 1 : meanPence);
}

/** What some experiments showed, as shares of them. */
export interface Shown {
	/** Those in which the interval excluded 0 at any look. */
	readonly everAnytime: number;
	readonly everOrdinary: number;
	/** At the last look. */
	readonly lastAnytime: number;
	readonly lastOrdinary: number;
	/** Those in which the truth was inside at every look, and the share at the look that did worst. */
	readonly coveredAlways: number;
	readonly coveredWorst: number;
	readonly coveredLastOrdinary: number;
	/** Means, at the last look. */
	readonly varianceReduction: number;
	readonly length: number;
}

export function simulate(setting: Simulated, experiments: number, firstSeed = 1): Shown {
	const truth = truthOf(setting);
	const excludes = (low: number, high: number) => low > 0 || high < 0;
	const counts = { everAnytime: 0, everOrdinary: 0, lastAnytime: 0, lastOrdinary: 0, coveredAlways: 0 };
	const missedAt = new Array<number>(setting.days).fill(0);
	let [coveredLastOrdinary, reduction, length] = [0, 0, 0];
	for (let number = 0; number < experiments; number++) {
		const looks = looksOf(setting, firstSeed + number);
		const known = looks.filter((look) => look !== undefined);
		const last = known.at(-1) as Difference;
		const isMissed = (look: Difference) => look.anytimeLow > truth || look.anytimeHigh < truth;
		for (const [day, look] of looks.entries()) if (look && isMissed(look)) (missedAt[day] as number)++;
		if (known.some((look) => excludes(look.anytimeLow, look.anytimeHigh))) counts.everAnytime++;
		if (known.some((look) => excludes(look.low, look.high))) counts.everOrdinary++;
		if (excludes(last.anytimeLow, last.anytimeHigh)) counts.lastAnytime++;
		if (excludes(last.low, last.high)) counts.lastOrdinary++;
		if (!known.some(isMissed)) counts.coveredAlways++;
		if (last.low <= truth && truth <= last.high) coveredLastOrdinary++;
		reduction += last.varianceReduction;
		length += last.anytimeHigh - last.anytimeLow;
	}
	const share = (count: number) => count / experiments;
	return {
		everAnytime: share(counts.everAnytime),
		everOrdinary: share(counts.everOrdinary),
		lastAnytime: share(counts.lastAnytime),
		lastOrdinary: share(counts.lastOrdinary),
		coveredAlways: share(counts.coveredAlways),
		coveredWorst: 1 - Math.max(...missedAt) / experiments,
		coveredLastOrdinary: share(coveredLastOrdinary),
		varianceReduction: reduction / experiments,
		length: length / experiments,
	};
}

/** What is in each group where the service draws them, and a bug loses a part of one of them. */
export function drawnGroups(
	visitors: number,
	{ holdoutPercent, lost, seed }: { holdoutPercent: number; lost: number; seed: number },
): { treated: number; holdout: number } {
	const random = seededRandom(seed);
	const secret = Buffer.from(Array.from({ length: 32 }, () => Math.floor(random() * 256)));
	const experiment: Experiment = {
		name: 'x',
		segment: 's',
		rule: 'true',
		goal: 'g',
		holdoutPercent,
		secret: secret.toString('base64url'),
		fromMs: 0,
		toMs: 90 * dayMs,
		stoppedAtMs: null,
	};
	const counts = { treated: 0, holdout: 0 };
	for (let visitor = 0; visitor < visitors; visitor++) {
		const { group } = drawOf(experiment, visitor.toString(16).padStart(32, '0'));
		if (group === 'holdout' && random() < lost) continue;
		counts[group]++;
	}
	return counts;
}
