import { Command } from '../config.ts';
import type { Check } from '../store/store.ts';
import { type CommonOptions, printJson, printLine, withStore } from './output.ts';

export function doctorCommand(): Command {
	return new Command('doctor')
		.summary('check the installation for problems')
		.description(
			`Check disk space, keys, and the integrity and schema of every database. Changes nothing. The exit code is 1 if
			something needs attention.`,
		)
		.addCommonOptions()
		.action((options: CommonOptions) =>
			withStore(options, async (store) => {
				const checks: Check[] = [];
				for await (const check of store.runChecks()) {
					checks.push(check);
					if (!options.json) printLine(`${check.ok ? 'ok  ' : 'CARE'}  ${check.check}: ${check.detail}`);
				}
				if (options.json) printJson(checks);
				if (checks.some((check) => !check.ok)) process.exitCode = 1;
			}),
		);
}
