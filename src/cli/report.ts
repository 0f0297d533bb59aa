import { Argument, InvalidArgumentError, Option } from 'commander';
import { Command, moment, positiveNumber, wholeNumber } from '../config.ts';
import { paymentProviders, touchDimensions } from '../domain/touch.ts';
import { OperatorError } from '../errors.ts';
import { attributionModels } from '../reports/model.ts';
import {
	checkGrouping,
	day,
	defaultQuery,
	grouping,
	models,
	type ReportKind,
	type ReportQuery,
	renewalPeriod,
	reportKinds,
	usesParameter,
} from '../reports/report-query.ts';
import type { Report } from '../reports/run-report.ts';
import { aidArgument } from './aid-argument.ts';
import { type CommonOptions, printJson, withStore } from './output.ts';
import { writeOutputFile } from './output-file.ts';

type ReportOptions = CommonOptions &
	Partial<Omit<ReportQuery, 'kind' | 'asOfMs' | 'periodDays'>> & {
		readonly asOf?: number;
		readonly model?: ReportQuery['models'];
		readonly period?: Readonly<Record<string, number>>;
		readonly csv?: boolean;
		readonly html?: string;
	};

export function reportCommand(): Command {
	return new Command('report')
		.summary('which visits led to which subscriptions, and what they were worth')
		.description(
			`Print a report of an account as a table; with --json, --csv or --html for programs, spreadsheets or browsers.

  attribution   what each channel is credited with
  paths         the paths to subscriptions, and how long they took
  ltv           what subscriptions earn, by month of acquisition
  renewals      who renews, and who is refunded
  coverage      how many events are joined to a visitor
  spend         what subscriptions cost, see 'caskade spend import'

Days are in the account's time zone; --from is inclusive, --to exclusive. A flag that the report does not use is refused.
docs/reports.md has every figure's formula.`,
		)
		.addArgument(new Argument('<report>').choices(reportKinds))
		.addArgument(aidArgument())
		.addOption(new Option('--from <day>', 'the first day, such as 2026-01-31').argParser(refusing(day)))
		.addOption(new Option('--to <day>', 'the day after the last one').argParser(refusing(day)))
		.addOption(
			new Option(
				'--as-of <time>',
				'use nothing later than this time, such as 2026-11-21 or 2026-11-21T10:30:00Z',
			).argParser(moment),
		)
		.addOption(
			new Option(
				'--timezone <name>',
				"time zone of days and months, such as Europe/London (default: the account's)",
			),
		)
		.addOption(
			new Option(
				'--by <dimensions>',
				`one or two of ${touchDimensions.join(', ')}, separated by a comma; or none, for one row (default: channel)`,
			).argParser(refusing(grouping)),
		)
		.addOption(
			new Option(
				'--model <models>',
				`some of ${attributionModels.join(', ')}, separated by commas, or all (default: last-non-direct)`,
			).argParser(refusing(models)),
		)
		.addOption(
			new Option(
				'--basis <basis>',
				'count what happened in the period, or all events of the subscriptions acquired in it (default: event)',
			).choices(['event', 'cohort']),
		)
		.addOption(
			new Option('--lookback-days <number>', 'maximum age of credited touches (default: 90)').argParser(
				wholeNumber(1, 3650),
			),
		)
		.addOption(
			new Option('--half-life-days <number>', 'half-life of the model decay (default: 7)').argParser(
				positiveNumber(3650),
			),
		)
		.addOption(
			new Option(
				'--no-intervals',
				'leave out the intervals of the model markov, which take most of the time',
			),
		)
		.addOption(new Option('--evt <name>', 'only subscriptions whose acquisition has this event type'))
		.addOption(new Option('--channel <name>', 'only subscriptions with this channel in their path'))
		.addOption(new Option('--segment <id>', 'only subscriptions whose visitor is in this segment'))
		.addOption(
			new Option(
				'--period <evt=days...>',
				'days from one renewal to the next, such as newsletter=30 (default: the median)',
			).argParser((value: string, earlier: Readonly<Record<string, number>> = {}) => ({
				...earlier,
				...refusing(renewalPeriod)(value),
			})),
		)
		.addOption(
			new Option('--top <number>', 'number of paths to show (default: 20)').argParser(wholeNumber(1, 10_000)),
		)
		.addOption(new Option('--csv', 'print CSV, with whole pence').conflicts('json'))
		.addOption(new Option('--html <file>', 'write the report as one HTML page, with charts'))
		.addCommonOptions()
		.action((kind: ReportKind, aid: string, options: ReportOptions, command: Command) =>
			withStore(options, async (store) => {
				requireUsed(kind, command);
				if (options.by) checkGrouping(kind, options.by);
				const account = await store.control.account(aid);
				const { runReport } = await import('../reports/run-report.ts');
				const report = await runReport(store, account, reportQueryOf(kind, options), paymentProviders);
				await print(kind, report, options);
			}),
		);
}

const outputFlags = ['json', 'csv', 'html', 'database', 'stage'];

function requireUsed(kind: ReportKind, command: Command): void {
	const unused = command.options.filter((option) => {
		const name = option.attributeName();
		const isGiven = command.getOptionValueSource(name) === 'cli';
		return isGiven && !outputFlags.includes(name) && !usesParameter(kind, name);
	});
	if (unused.length > 0)
		throw new OperatorError(
			`The report ${kind} does not use ${unused.map(({ long }) => long).join(', ')}; leave it out.`,
		);
}

function reportQueryOf(kind: ReportKind, options: ReportOptions): ReportQuery {
	const { from, to, timezone, by, basis, lookbackDays, halfLifeDays, intervals, evt, channel, segment, top } =
		options;
	const given = {
		...{ from, to, timezone, by, basis, lookbackDays, halfLifeDays, intervals, evt, channel, segment, top },
		...{ asOfMs: options.asOf, models: options.model, periodDays: options.period },
	};
	const set = Object.entries(given).filter(([, value]) => value !== undefined);
	return { ...defaultQuery(kind), ...Object.fromEntries(set) };
}

async function print(kind: ReportKind, report: Report, { json, csv, html }: ReportOptions): Promise<void> {
	if (html !== undefined)
		writeOutputFile(html, (await import('../reports/report-page.ts')).reportPage(kind, report));
	const { csvOf, flatRows } = await import('../reports/report-columns.ts');
	if (json) printJson(report);
	else if (csv) process.stdout.write(csvOf(flatRows(report)));
	else process.stdout.write((await import('../reports/report-text.ts')).reportText(kind, report));
}

/** A flag's value is wrong as a parameter's is: in the same words. */
function refusing<Value>(parse: (value: string) => Value): (value: string) => Value {
	return (value) => {
		try {
			return parse(value);
		} catch (error) {
			throw new InvalidArgumentError((error as Error).message);
		}
	};
}
