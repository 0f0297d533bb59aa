import { Command, databaseOption, jsonOption, stageOption } from '../config.ts';
import type { Finding } from '../store/store.ts';
import { type CommonOptions, printJson, printLine, withStore } from './output.ts';

export function doctorCommand(): Command {
	return new Command('doctor')
		.summary('look at everything that can be wrong')
		.description(
			`Look at everything that can be wrong: disk space, every database's soundness and schema, keys. Changes nothing.
The exit code is 1 where something needs care.`,
		)
		.addOption(databaseOption())
		.addOption(stageOption())
		.addOption(jsonOption())
		.action((options: CommonOptions) =>
			withStore(options, async (store) => {
				const findings: Finding[] = [];
				for await (const finding of store.examine()) {
					findings.push(finding);
					if (!options.json)
						printLine(`${finding.ok ? 'ok  ' : 'CARE'}  ${finding.check}: ${finding.detail}`);
				}
				if (options.json) printJson(findings);
				if (findings.some((finding) => !finding.ok)) process.exitCode = 1;
			}),
		);
}
