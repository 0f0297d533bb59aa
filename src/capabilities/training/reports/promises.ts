import type { Goal } from '../../../core/domain/goal.ts';
import { OperatorError } from '../../../core/errors.ts';
import { counted, formatNumber } from '../../../core/format/numbers.ts';
import { reportThat } from '../../../kit/reports/report.ts';
import { curves } from '../../../kit/reports/report-curves.ts';
import { servedScores } from '../store/served-scores.ts';
import { allWeeks, comparePromises } from './promise-comparison.ts';

/** The account's goals that a report is about. @throws OperatorError where there is none of that name */
export function goalsAsked(goals: readonly Goal[], name: string | null): readonly Goal[] {
	const asked = goals.filter((goal) => name === null || goal.name === name);
	if (asked.length === 0 && name !== null)
		throw new OperatorError(
			`There is no goal ${name}; the account has ${goals.map((goal) => goal.name).join(', ')}.`,
		);
	return asked;
}

export const promisesReport = reportThat({
	kind: 'promises',
	title: 'Promises of scores',
	summary: 'what scores predicted, and what was observed',
	definition:
		'Compares a random sample of the scores that pages were given, one per visitor, goal and week, with what came: by goal, week and band, and for all weeks together (`all`). `predicted` is the sum of the scores: how many should have reached the goal. `observed` is how many did within its horizon. If the scores are right, `observed` is outside `low` to `high` in at most one row of twenty. Such rows say `more came` or `fewer came`, the others `not contradicted`. Visitors whose horizon is not over are `waiting`.',
	parameters: ['from', 'to', 'asOf', 'timezone', 'goal', 'include'],
	async make({ account, control, query, asOfMs, calendar, period, read, history }) {
		const goals = goalsAsked(await control.goals(account.id), query.goal);
		const served = await read(() => servedScores(period.fromMs, Math.min(period.toMs, asOfMs + 1)));
		const reader = history();
		const rows = await comparePromises(reader, goals, served, { asOfMs, calendar });
		const gateways = await reader.gateways(asOfMs);
		const left = new Set(served.map(({ vid }) => vid).filter((vid) => gateways.has(vid)));
		return { gatewayVisitors: left.size, rows };
	},
	answer({ rows }) {
		const told = rows.filter(
			({ week, band, visitors }) => week === allWeeks && band === 'all' && visitors > 0,
		);
		const sentences = told.map(({ goal, visitors, predicted, observed, low, high }) => {
			const isWithin = observed >= low && observed <= high;
			return `${goal}: of ${counted(visitors, 'visitor')}, ${formatNumber(predicted)} were to reach it, and ${formatNumber(observed)} did. ${isWithin ? 'That does not contradict the scores' : 'True scores leave that to chance in at most one case of twenty'} (${formatNumber(low)} to ${formatNumber(high)}).`;
		});
		return sentences.join(' ') || null;
	},
	draw: ({ rows }, _table, _money, notes) =>
		[...Map.groupBy(rows, ({ goal }) => goal)].map(([goal, own]) => {
			const weeks = own.filter(
				({ week, band, visitors }) => week !== allWeeks && band === 'all' && visitors > 0,
			);
			return curves(
				[
					{
						name: 'predicted',
						points: weeks.map(({ week, predicted, low, high }) => ({ x: week, y: predicted, low, high })),
						isDashed: true,
					},
					{ name: 'observed', points: weeks.map(({ week, observed }) => ({ x: week, y: observed })) },
				],
				{
					title: `${goal}: visitors of the sample who reach it, with what chance explains`,
					noted: { notes, every: 'week' },
				},
			);
		}),
});
