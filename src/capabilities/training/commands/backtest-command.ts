import { command } from '../../../kit/cli/command.ts';
import { printJson, printLine, printTable } from '../../../kit/cli/output.ts';
import { writeOutputFile } from '../../../kit/cli/output-file.ts';
import { showProgress } from '../../../kit/cli/progress.ts';
import { wholeNumber } from '../../../kit/format/values.ts';
import { historyReader } from '../../../kit/reading/histories.ts';
import type { BacktestReport } from '../follow/backtest.ts';
import { requireGoal } from '../judge/model-versions.ts';

export const backtestCommand = command(
	'backtest',
	'go back in time, train, score, and compare with the outcomes',
)
	.description(
		`Judge a goal's scores against the past. The command goes back to several moments, spread evenly over the later 60 % of the
history. As of each moment it trains a model on what was known then, scores every visitor (of more than 50,000, a
random sample), and compares the scores with what happened next. It stores nothing, and the model in use stays in use.

The scores are also compared with the base rate, and with logistic regression on recency, count and age alone. Two sentences
say whether they are better. A model that is not better than both is not worth having.

It takes as long as --cuts trainings. A server may run beside it.`,
	)
	.required('--goal <name>', 'the goal')
	.option('--cuts <number>', 'number of moments', wholeNumber(1, 50), 6)
	.option(
		'--at <moment>',
		'cut: all visitors as of the cut, as a batch does; hit: visitors right after their hits until the next cut, as pages do',
		['cut', 'hit'],
		'cut',
	)
	.option('--seed <number>', 'seed of random numbers', wholeNumber(0, 2 ** 31), 1)
	.option('--html <file>', 'write the report as one HTML page, with charts')
	.onAccount(async (store, account, options) => {
		const { aid } = account;
		const { cuts, at, seed, html } = options;
		const goal = await requireGoal(store, account.id, options.goal);
		// Loaded here, since no other command should wait for it.
		const { backtest, cutsForBacktest } = await import('../follow/backtest.ts');
		const progress = showProgress(process.stderr, 'cuts', options.json ?? false);
		const reader = historyReader(store, account);
		const extent = await reader.historyExtent(store.now());
		const report = await backtest(reader, {
			...cutsForBacktest(extent, goal, cuts, at),
			goal,
			seed,
			at,
			onProgress: (done, total) => progress.update(`back-testing ${aid}`, done, total),
		}).finally(() => progress.end());
		if (html !== undefined) {
			const { backtestPage } = await import('../pages/backtest-page.ts');
			writeOutputFile(html, backtestPage(`Back-test of ${goal.name}, ${aid}`, report));
		}
		if (options.json) printJson({ aid, goal: goal.name, horizonDays: goal.horizonDays, ...report });
		else await printReport(report, html);
	});

async function printReport(report: BacktestReport, file: string | undefined): Promise<void> {
	const { backtestRows, backtestVerdict } = await import('../pages/backtest-text.ts');
	printTable(backtestRows(report), '');
	printLine('');
	for (const sentence of backtestVerdict(report)) printLine(sentence);
	if (file !== undefined) printLine(`\nThe charts are in ${file}.`);
}
