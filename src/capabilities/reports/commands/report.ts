import { OperatorError } from '../../../core/errors.ts';
import { aidText, command } from '../../../kit/cli/command.ts';
import type { ReportDefinition } from '../../../kit/reports/report.ts';
import { checkGiven, parameterNames } from '../../../kit/reports/report-query.ts';
import { csvOutput, htmlOutput, optionOf, printReport } from './print-report.ts';

export const reportCommand = (all: readonly ReportDefinition[]) =>
	command('report', 'which visits led to which subscriptions, and what they were worth')
		.description(
			`Print a report of an account as a table; with --json, --csv or --html for programs, spreadsheets or browsers.

${all.map(({ kind, summary }) => `  ${kind.padEnd(13)}  ${summary}`).join('\n')}

Days are in the account's time zone; --from is inclusive, --to exclusive. A flag that the report does not use is refused.
docs/reference/reports.md has every figure's formula. 'caskade spend import' stores what was spent, for the report spend.`,
		)
		.argument(
			'<report>',
			'',
			all.map(({ kind }) => kind),
		)
		.argument('<aid>', aidText)
		.argument('[experiment]', 'of the report lift (default: the newest)')
		.with((own) => {
			for (const name of parameterNames) if (name !== 'experiment') own.addOption(optionOf(name));
		})
		.option(...csvOutput)
		.conflicts('json')
		.option(...htmlOutput)
		.option(
			'--long',
			'one table, as in CSV, not several: in attribution with a row for each model, not a column',
		)
		.conflicts('json', 'csv')
		.common()
		.action((options, own, kind, aid, experiment) => {
			const definition = all.find((each) => each.kind === kind) as ReportDefinition;
			if (options.long && !definition.parts)
				throw new OperatorError(`The report ${kind} does not use --long; leave it out.`);
			if (experiment !== undefined && !definition.parameters.includes('experiment'))
				throw new OperatorError(`The report ${kind} is not about an experiment; leave ${experiment} out.`);
			const names = parameterNames.filter((name) => own.getOptionValueSource(name) === 'cli');
			const unused = names.filter((name) => !definition.parameters.includes(name));
			if (unused.length > 0) {
				const flags = unused.map((name) => optionOf(name).long);
				throw new OperatorError(`The report ${kind} does not use ${flags.join(', ')}; leave it out.`);
			}
			const given = Object.fromEntries(names.map((name) => [name, own.getOptionValue(name)]));
			checkGiven(definition, given);
			return printReport(
				definition,
				aid,
				{ ...given, ...(experiment !== undefined && { experiment }) },
				options,
			);
		});
