import type { Goal } from '../../../core/domain/goal.ts';
import { OperatorError } from '../../../core/errors.ts';
import { formatShare } from '../../../core/format/numbers.ts';
import { compileRule } from '../../../core/segments/rule.ts';
import { seededRandom } from '../../../kit/random.ts';
import { rounded } from '../../../kit/reports/journey.ts';
import { headed, reportThat } from '../../../kit/reports/report.ts';
import { curves } from '../../../kit/reports/report-curves.ts';
import { boundsOf, poisson } from '../../../kit/reports/simulated.ts';
import type { GoalReport } from '../judge/account-training.ts';
import type { LaterMeasures } from '../judge/training-report.ts';
import { goalsAsked } from './promises.ts';

type CutRow = ReturnType<typeof rowsOf>[number];
/** The cut with the largest profit, with the interval that resampling gives, and a rule for a segment of those above it. */
export type BestCut = NonNullable<ReturnType<typeof bestCut>>;

interface Worth {
	readonly costPence: number;
	readonly valuePence: number;
}

/** Visitors of held-out data between two cuts; the rows of one weigh together as one. */
interface Bin {
	readonly cut: number;
	readonly converted: number;
	readonly others: number;
}

const resamples = 1000;
const per = 1000;

/** The bins between the points of a ROC curve, highest scores first; none of a training that did not count visitors. */
function binsOf({ roc, visitors, visitorRate }: LaterMeasures): Bin[] {
	if (visitorRate === undefined) return [];
	const converters = visitorRate * visitors;
	return roc.slice(1).flatMap(({ score, truePositives, falsePositives }, place) => {
		const before = roc[place] as LaterMeasures['roc'][number];
		if (score === undefined) return [];
		return [
			{
				cut: score,
				converted: (truePositives - before.truePositives) * converters,
				others: (falsePositives - before.falsePositives) * (visitors - converters),
			},
		];
	});
}

/** What it brings to treat all visitors who are scored at least so high, of 1,000 who are scored. */
function rowsOf(bins: readonly Bin[], { costPence, valuePence }: Worth) {
	const all = bins.reduce((sum, { converted, others }) => sum + converted + others, 0);
	let [treated, conversions] = [0, 0];
	return bins.map(({ cut, converted, others }) => {
		treated += ((converted + others) * per) / all;
		conversions += (converted * per) / all;
		return { cut, treated, conversions, profitPence: conversions * valuePence - treated * costPence };
	});
}

function bestOf(rows: readonly CutRow[]): CutRow | undefined {
	return rows.reduce<CutRow | undefined>(
		(best, row) => (row.profitPence > (best?.profitPence ?? 0) ? row : best),
		undefined,
	);
}

/**
 * The best cut of held-out data, and the 95 % interval of its place and of the profit there, by the Poisson bootstrap with a
 * fixed seed (Hanley and MacGibbon 2006).
 * @returns undefined where treating nobody is best
 */
export function bestCut(goal: string, later: LaterMeasures, worth: Worth) {
	const bins = binsOf(later);
	const best = bestOf(rowsOf(bins, worth));
	if (!best) return undefined;
	const random = seededRandom(1);
	const cuts: number[] = [];
	const profits: number[] = [];
	for (let sample = 0; sample < resamples; sample++) {
		const drawn = rowsOf(
			bins.map(({ cut, converted, others }) => ({
				cut,
				converted: poisson(converted, random),
				others: poisson(others, random),
			})),
			worth,
		);
		// Where nobody is to be treated, the cut is above all scores.
		cuts.push(bestOf(drawn)?.cut ?? 1);
		profits.push(drawn.find(({ cut }) => cut === best.cut)?.profitPence ?? 0);
	}
	const [cutLow, cutHigh] = boundsOf(cuts);
	const [profitLow, profitHigh] = boundsOf(profits);
	const shown = shownCut(best.cut);
	const rule = `scores[${JSON.stringify(goal)}] >= ${shown.toFixed(4)}`;
	compileRule(rule, [goal]);
	return {
		...roundedRow({ ...best, cut: shown }),
		cutLow: shownCut(cutLow),
		cutHigh: shownCut(cutHigh),
		profitLowPence: Math.round(profitLow),
		profitHighPence: Math.round(profitHigh),
		rule,
	};
}

/** Downwards, so that a rule includes whoever is at the cut, and the interval of cuts holds the best one. */
function shownCut(cut: number): number {
	return Math.floor(cut * 1e4) / 1e4;
}

function roundedRow({ cut, treated, conversions, profitPence }: CutRow): CutRow {
	return {
		cut: rounded(cut, 4),
		treated: rounded(treated, 1),
		conversions: rounded(conversions, 2),
		profitPence: Math.round(profitPence),
	};
}

export const thresholdReport = reportThat({
	kind: 'threshold',
	title: 'Threshold',
	summary: 'the score from which treating a visitor pays off',
	definition:
		"By score, from the highest: of 1,000 visitors who are scored, how many have at least this score (`treated`), how many of these reach the goal (`conversions`), and `profitPence`, the value of the conversions less the cost of the treated. It uses the later rows of the active model's training, from which the model had not learned; all rows of a visitor together weigh as one. `best` has the score with the largest profit, and a rule for the segment of everybody from that score on.",
	parameters: ['timezone', 'goal', 'cost', 'value'],
	columns: {
		...headed({ treated: 'treated of 1,000', profitPence: 'profit of 1,000' }),
	},
	async make({ account, control, query }) {
		const { cost: costPence, value: valuePence } = query;
		const [goal] = goalsAsked(await control.goals(account.id), query.goal) as readonly [Goal, ...Goal[]];
		const active = (await control.models(account.id)).find(
			(model) => model.active && model.scope === 'vid' && model.goal === goal.name,
		);
		const about = { goal: goal.name, costPence, valuePence };
		if (!active)
			return {
				...about,
				best: null,
				rows: [],
				warnings: [
					`The goal ${goal.name} has no active model, so there is no score to choose by; see 'caskade train'.`,
				],
			};
		const { later }: Partial<GoalReport> = JSON.parse(await control.modelReport(account.id, active));
		const rows = later ? rowsOf(binsOf(later), { costPence, valuePence }) : [];
		if (!later || rows.length === 0)
			throw new OperatorError(
				`The model ${active.version} of ${goal.name} was trained before its held-out visitors were counted; run 'caskade train' again.`,
			);
		const best = bestCut(goal.name, later, { costPence, valuePence });
		return {
			...about,
			model: active.version,
			best: best ?? null,
			rows: rows.map(roundedRow),
			notes: [
				best
					? `Best: from ${best.cut} on (95 %: ${best.cutLow} to ${best.cutHigh}). The rule of its segment: ${best.rule}`
					: 'At this cost and value, treating nobody is best.',
				'The value counts every conversion of those who are treated. What they would have done anyway, only an experiment shows.',
			],
		};
	},
	answer({ rows, best, costPence, valuePence }, money) {
		if (rows.length === 0) return null;
		const worth = `if a treatment costs ${money(costPence)} and whoever reaches the goal is worth ${money(valuePence)}`;
		if (!best)
			return `Among visitors that the model had not learned from, treating anybody would have cost more than it earned, ${worth}.`;
		const { cut, cutLow, cutHigh, profitPence, profitLowPence, profitHighPence } = best;
		const isSure = profitLowPence > 0 ? '' : ' It may not have paid at all.';
		return `Among visitors that the model had not learned from, treating those who score ${formatShare(cut)} or more (likely ${formatShare(cutLow)} to ${formatShare(cutHigh)}) would have paid most, ${worth}: a profit of ${money(profitPence)} from 1,000 visitors (likely ${money(profitLowPence)} to ${money(profitHighPence)}).${isSure}`;
	},
	draw: ({ rows, best }, _, money) =>
		curves(
			[
				{
					name: 'profit',
					points: rows.map(({ treated, profitPence }) => ({
						x: String(Math.round(treated)),
						y: profitPence,
					})),
				},
			],
			{
				title: 'Profit, of 1,000 visitors who are scored',
				money,
				across: 'treated of 1,000',
				isLinear: true,
				marked: best
					? { x: String(Math.round(best.treated)), text: `best: from ${formatShare(best.cut)}` }
					: undefined,
			},
		),
});
