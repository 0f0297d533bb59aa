import { Option } from 'commander';
import { Command, jsonOption, Setting } from '../config.ts';
import type { UploadOptions } from './run-upload.ts';

export function uploadCommand(): Command {
	return new Command('upload')
		.summary('upload a file of subscription events, as a client does')
		.description(
			`Upload a file of subscription events to a server with an API key, at the rate of its plan. The file is CSV with a
heading (tid,subid,cid,evt,rvn) or has one JSON object per line. Other columns are ignored.

All rows are validated before the first request. FILE.progress records what is acknowledged, so that the same command continues
after Ctrl+C, a crash or a lost network. Nothing is stored twice. At the end, FILE.report.csv has the outcome of each row, and
FILE.rejected.csv has the rejected rows, to be corrected and uploaded.

Exit codes: 0 if all rows are stored, 1 if some were rejected, 2 if it stopped and the same command continues. The key is read
from --key-file or from CASKADE_KEY.`,
		)
		.argument('<file>', 'events, CSV or one JSON object per line')
		.addOption(
			new Setting(
				'--url <url>',
				'URL of the server, for example https://api.example.com',
			).makeOptionMandatory(),
		)
		.requiredOption('--aid <aid>', 'account token')
		.addOption(new Setting('--key-file <file>', 'file with the API key'))
		.option('--simulate', 'do everything except storing; counts toward the quota')
		.addOption(
			new Option('--on-bad <what>', 'if rows are invalid: stop before anything is sent, or skip them')
				.choices(['stop', 'skip'])
				.default('stop'),
		)
		.addOption(jsonOption())
		.action(async (path: string, options: UploadOptions) => {
			// Loaded here, since no other command should wait for it.
			const { upload } = await import('./run-upload.ts');
			await upload(path, options);
		});
}
