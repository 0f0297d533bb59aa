import type { Check } from '../../../core/store/maintenance.ts';
import { command } from '../../../kit/cli/command.ts';
import { printJson, printLine } from '../../../kit/cli/output.ts';
import { erasureListSetting } from '../../../kit/config.ts';
import { checkInstallation } from '../checks.ts';

export const doctorCommand = command('doctor', 'check the installation for problems')
	.description(
		`Check disk space, keys, the integrity and schema of every database, the stored figures of past days, ids
that join nobody, accounts that believe every id, and whether erasures are missing, as after a restore. Changes nothing. The exit code is 1
if something needs attention.`,
	)
	.setting(...erasureListSetting)
	.onStore(async (store, options) => {
		const checks: Check[] = [];
		const show = (check: Check) => {
			checks.push(check);
			if (!options.json)
				printLine(`${check.isNote ? 'note' : check.ok ? 'ok  ' : 'CARE'}  ${check.check}: ${check.detail}`);
		};
		for await (const check of checkInstallation(store)) show(check);
		if (options.json) printJson(checks);
		if (checks.some((check) => !check.ok)) process.exitCode = 1;
	});
