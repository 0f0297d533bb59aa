import { InvalidArgumentError } from 'commander';
import { OperatorError } from '../../../core/errors.ts';
import { currencyCode } from '../../../core/format/currencies.ts';
import { command } from '../../../kit/cli/command.ts';
import { type CommonOptions, withStore } from '../../../kit/cli/output.ts';
import { duration, jsonSetting } from '../../../kit/config.ts';
import { asWrittenOption } from '../as-written.ts';
import { fileFields } from '../upload/event-file.ts';
import { conflictsOption } from './conflicts-command.ts';
import type { UploadOptions } from './run-upload.ts';

/**
 * What the command is, whether there is a data folder beside it or not.
 * @param program what it is a command of
 * @param otherwise where the server is if nothing names it
 */
const declared = (program: string, otherwise: string) =>
	command('upload', 'upload a file of subscription events, as a client does')
		.description(
			`Upload a file of subscription events to a server with an API key, at the rate of its plan. The file is CSV with a
header (tid,subid,cid,evt,rvn), separated by commas, semicolons, tabs or bars, or has one JSON object per line. It may be
compressed by gzip. A column 'at' is when events happened. Other columns are not sent. The key is read from --key-file or from CASKADE_KEY.

  ${program} upload orders.csv --aid c-a-acme-uk --map tid=OrderID --map rvn=Total --pounds rvn

All rows are validated before the first request. FILE.progress records what is acknowledged, so that the same command continues
after Ctrl+C, a crash or a lost network. Nothing is stored twice. At the end, FILE.report.csv has the outcome of each row, and
FILE.rejected.csv has the rejected rows as they were, to be corrected and uploaded. These files are replaced by the next upload
of FILE. A file of another kind with one of these names is never replaced.

For standard input (-), they are stdin.report.csv and stdin.rejected.csv. Such an upload cannot be resumed: pipe the rows in again.

Exit codes: 0 if all rows are stored; 1 if some were rejected, or if something must be changed first, such as the key; 2 if it
stopped and the same command continues; 3 if rows were not stored because their tid is stored with other content.`,
		)
		.argument('<file>', 'events, CSV or one JSON object per line; - for standard input')
		.setting('--url <url>', `URL of the server, for example https://api.example.com${otherwise}`)
		.required('--aid <aid>', 'account token')
		.setting('--key-file <file>', 'file with the API key')
		.option('--simulate', 'do everything except storing; counts toward the quota')
		.option(
			'--on-bad <what>',
			'if rows are invalid: stop before anything is sent, or skip them',
			['stop', 'skip'],
			'stop',
		)
		.option(...conflictsOption)
		.option('--separator <character>', 'what separates columns, if the header does not show it', separator)
		.option('--map <field=column>', 'the column of a field; may be repeated', mapping, {}, 'its own name')
		.option(
			'--currency <code>',
			"amounts (rvn) are in this currency, which must be the account's, as people write them, for example 4.99 or 1.234,50 €",
			currencyCode,
		)
		.option('--pounds <field>', 'the same as --currency GBP', ['rvn'])
		.option('--decimal <mark>', 'the decimal mark, if the amounts do not show it', ['point', 'comma'])
		.option(...asWrittenOption)
		.option(
			'--retry-for <time>',
			'how long to try each request, for example 90s or 1h',
			duration,
			120_000,
			'2m',
		);

export const uploadCommand = declared('caskade', ' (default: that of the server on the data folder)')
	.common()
	.action(async (options, _, path) => run(path, options, options.url ?? (await localUrl(options))));

/** `upload` as the client's own package has it, which has no data folder. */
export const clientUploadCommand = declared('caskade-client', '')
	.setting(...jsonSetting)
	.action(async (options, _, path) => run(path, options, options.url ?? nameServer('.')));

async function run(path: string, options: Omit<UploadOptions, 'url'>, url: string): Promise<void> {
	// Loaded here, since no other command should wait for it.
	const { upload } = await import('./run-upload.ts');
	await upload(path, { ...options, url });
}

function nameServer(why: string): never {
	throw new OperatorError(`Name the server with --url, for example https://api.example.com${why}`);
}

/** @throws OperatorError where no server runs on the data folder */
async function localUrl(options: CommonOptions): Promise<string> {
	const running = await withStore(options, (store) => store.status()).catch((error) => {
		// There is no data, which is as it should be on a client's machine.
		if (error instanceof OperatorError) return undefined;
		throw error;
	});
	return running?.url ?? nameServer(': no server runs on a data folder here.');
}

function separator(value: string): string {
	const character = /^(tab|\\t)$/i.test(value) ? '\t' : value;
	if (!/^[^\w"\r\n]$/u.test(character))
		throw new InvalidArgumentError('It must be one character, for example ; or |, or tab.');
	return character;
}

function mapping(value: string, known: Readonly<Record<string, string>>): Record<string, string> {
	const [, field = '', column = ''] = /^(\w+)=(.*)$/s.exec(value) ?? [];
	if (!(fileFields as string[]).includes(field) || (column === '' && field !== 'at'))
		throw new InvalidArgumentError(
			`It must be FIELD=COLUMN, where FIELD is one of ${fileFields.join(', ')}.`,
		);
	return { ...known, [field]: column };
}
